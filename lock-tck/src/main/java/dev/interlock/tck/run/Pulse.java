package dev.interlock.tck.run;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
import java.util.Optional;

/**
 * Measures how slowly the machine runs the threads of this JVM. Ten times a second, a thread needs
 * the processor for four milliseconds. The longer that takes, the slower is the machine for all
 * threads, and the longer must a test wait before it can blame a backend.
 *
 * <p>Thread-safe.
 */
public final class Pulse {
  private static final Pulse OF_THIS_JVM = start();

  private static final long PERIOD = Duration.ofMillis(100).toNanos();
  private static final long WORK = Duration.ofMillis(4).toNanos();

  /** The time over which the slowdown is averaged, and the length of an entry of the history. */
  private static final long SPAN = Duration.ofSeconds(2).toNanos();

  /**
   * The share of a limit in which a right backend may need the processor; for the rest it waits,
   * and that takes no longer on a slow machine.
   */
  private static final double BUSY_SHARE = 1.0 / 8;

  private static final int MAX_HISTORY = 450;

  /** Below this, a right backend is in time. */
  private static final double MIN_SLOWDOWN = 4;

  private static final Duration MIN_STANDSTILL = Duration.ofMillis(500);

  /** Two seconds of the past. */
  private record Span(long end, double slowdown, long standstill) {}

  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private final Deque<Span> history = new ArrayDeque<>();

  /**
   * False on a JVM that does not measure processor time: limits are then those of an idle machine.
   */
  private boolean isMeasuring;

  private long measuredAt;
  private long machineTime;
  private double slowdown = 1;
  private double averageElapsed = WORK;
  private double averageWork = WORK;
  private long spanStart;
  private long spanElapsed;
  private long spanWork;
  private long spanStandstill;

  Pulse(long now) {
    measuredAt = now;
    spanStart = now;
  }

  /** {@return the pulse of this JVM} */
  public static Pulse ofThisJvm() {
    return OF_THIS_JVM;
  }

  private static Pulse start() {
    Pulse pulse = new Pulse(System.nanoTime());
    if (pulse.threads.isCurrentThreadCpuTimeSupported() && pulse.threads.isThreadCpuTimeEnabled()) {
      Thread thread = new Thread(pulse::beat, "tck-pulse");
      thread.setDaemon(true);
      pulse.isMeasuring = true; // also until the first beat, which a standstill may delay
      thread.start();
    }
    return pulse;
  }

  private void beat() {
    try {
      while (true) {
        long start = System.nanoTime();
        long before = threads.getCurrentThreadCpuTime();
        Thread.sleep(Duration.ofNanos(PERIOD).toMillis());
        while (threads.getCurrentThreadCpuTime() - before < WORK) {
          Thread.onSpinWait();
        }
        long work = threads.getCurrentThreadCpuTime() - before;
        long now = System.nanoTime();
        add(now, now - start - PERIOD, work);
      }
    } catch (InterruptedException e) {
      stop(System.nanoTime()); // somebody ends all threads of the JVM
    }
  }

  /** Makes the clock of limits run as usual from now on. */
  synchronized void stop(long now) {
    machineTime = nanoTime(now);
    measuredAt = now;
    slowdown = 1;
    isMeasuring = false;
  }

  /**
   * Adds a beat.
   *
   * @param now its end
   * @param elapsed how much longer than its period it took
   * @param work its processor time
   */
  synchronized void add(long now, long elapsed, long work) {
    machineTime = nanoTime(now);
    measuredAt = now;
    double weight = (double) PERIOD / SPAN;
    averageElapsed += weight * (elapsed - averageElapsed);
    averageWork += weight * (work - averageWork);
    isMeasuring = true;
    slowdown = Math.max(1, averageElapsed / averageWork);
    spanElapsed += elapsed;
    spanWork += work;
    spanStandstill = Math.max(spanStandstill, elapsed - work);
    if (now - spanStart >= SPAN) {
      history.add(new Span(now, (double) spanElapsed / spanWork, spanStandstill));
      if (history.size() > MAX_HISTORY) {
        history.remove();
      }
      spanStart = now;
      spanElapsed = 0;
      spanWork = 0;
      spanStandstill = 0;
    }
  }

  /** {@return how many times longer than on an idle machine a thread needs now, at least 1} */
  public synchronized double slowdown() {
    return slowdown;
  }

  /** {@return how much longer a limit is now than on an idle machine} */
  private double stretch() {
    return 1 + (slowdown - 1) * BUSY_SHARE;
  }

  /** A time limit that becomes longer while the machine is slow. */
  public final class Limit {
    private final long end;

    private Limit(Duration limit) {
      end = nanoTime() + limit.toNanos();
    }

    /** {@return whether the time is over} */
    public boolean isOver() {
      return nanoTime() - end > 0;
    }

    /** {@return the time to wait if the machine remains as slow as it is, at least 1 ms} */
    public Duration remaining() {
      synchronized (Pulse.this) {
        double nanos = (end - nanoTime()) * stretch();
        return Duration.ofNanos(Math.max(1_000_000, (long) nanos));
      }
    }
  }

  /**
   * {@return a limit that begins now}
   *
   * @param limit its length on an idle machine
   */
  public Limit limit(Duration limit) {
    return new Limit(limit);
  }

  /**
   * {@return nanoseconds of the clock of limits, which runs more slowly while the machine is slow,
   * and stops while it stands still}
   */
  public synchronized long nanoTime() {
    return nanoTime(System.nanoTime());
  }

  synchronized long nanoTime(long now) {
    long sinceBeat = now - measuredAt;
    long running = isMeasuring ? Math.min(sinceBeat, 2 * PERIOD) : sinceBeat;
    return machineTime + (long) (running / stretch());
  }

  /**
   * Tells whether the machine stood still.
   *
   * @param start a value of {@link System#nanoTime}
   * @return the longest time since then for which it did, for example "this machine stood still for
   *     1.8 s"; empty if that is less than half a second
   */
  Optional<String> standstillSince(long start) {
    return standstillBetween(start, System.nanoTime());
  }

  synchronized Optional<String> standstillBetween(long start, long now) {
    long unfinished = isMeasuring ? now - measuredAt - 2 * PERIOD : 0;
    long longest = Math.max(spanStandstill, unfinished);
    for (Span span : history) {
      if (span.end - start > 0) {
        longest = Math.max(longest, span.standstill);
      }
    }
    return longest >= MIN_STANDSTILL.toNanos()
        ? Optional.of(
            String.format(Locale.ROOT, "this machine stood still for %.1f s", longest / 1e9))
        : Optional.empty();
  }

  /**
   * Tells whether the machine was slow.
   *
   * @param start a value of {@link System#nanoTime}
   * @return how slow it was in the worst two seconds since then, for example "this machine ran 5
   *     times slower than idle"; empty if that is less than four times
   */
  synchronized Optional<String> slownessSince(long start) {
    double slowest = slowdown;
    for (Span span : history) {
      if (span.end - start > 0) {
        slowest = Math.max(slowest, span.slowdown);
      }
    }
    return slowest >= MIN_SLOWDOWN
        ? Optional.of(
            String.format(Locale.ROOT, "this machine ran %.0f times slower than idle", slowest))
        : Optional.empty();
  }
}
