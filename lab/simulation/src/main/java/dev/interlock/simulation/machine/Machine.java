package dev.interlock.simulation.machine;

import dev.interlock.Lease;
import dev.interlock.MultiLease;
import dev.interlock.internal.Platform;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The machine of one client process: its clocks, its threads and its faults. It may be stopped (its
 * clocks go on), asleep (its monotonic clock stands still), short of threads, or dead.
 *
 * <p>A stop may happen whenever the time is read, also while monitors are held: then the thread
 * that was stopped there is the first of its machine to resume.
 */
public final class Machine implements Platform {

  private static final long WALL_START_MILLIS = 1_700_000_000_000L;

  /** How late anything that does not depend on the store may be. */
  public static final long TOLERANCE = TimeUnit.MILLISECONDS.toNanos(200);

  private static final long KEEP_ALIVE = TimeUnit.SECONDS.toNanos(10);

  private final Scheduler scheduler;
  private final String name;
  private final SplittableRandom random;
  private final double rate;
  private final long monotonicStart;
  private final boolean virtualThreads;
  private final int poolSize;
  private final List<Stop> stops = new ArrayList<>();
  private final List<Stop> shortages = new ArrayList<>();
  private final List<Reference<Object>> weak = new ArrayList<>();

  private long asleepSoFar;
  private boolean asleep;
  private long asleepSince;
  private int stopped;
  private boolean dead;
  private boolean noMoreThreads;
  private long noMoreThreadsSince;
  private boolean late;
  private @Nullable SimThread stoppedInside;
  private double stopChance;
  private long longestStop;
  private int pooled;

  /** A time in which the machine did not run, or could not start threads. */
  record Stop(long from, long until) {}

  public Machine(
      Scheduler scheduler,
      String name,
      SplittableRandom random,
      double rate,
      long monotonicStart,
      boolean virtualThreads,
      int poolSize) {
    this.scheduler = scheduler;
    this.name = name;
    this.random = random;
    this.rate = rate;
    this.monotonicStart = monotonicStart;
    this.virtualThreads = virtualThreads;
    this.poolSize = poolSize;
  }

  public Scheduler scheduler() {
    return scheduler;
  }

  public String name() {
    return name;
  }

  // --- clocks ---------------------------------------------------------------------------------

  private long awake() {
    long now = asleep ? asleepSince : scheduler.now();
    return now - asleepSoFar;
  }

  /** The monotonic clock, read without the risk of a stop. */
  public long monotonic() {
    return monotonicStart + (long) (awake() * rate);
  }

  /** When the monotonic clock will show the given time, if nothing intervenes. */
  long trueTime(long monotonic) {
    long left = monotonic - monotonic();
    return left <= 0 ? scheduler.now() : scheduler.now() + (long) Math.ceil(left / rate);
  }

  /** The true duration of a duration by the monotonic clock. */
  public long trueNanos(long nanos) {
    return (long) (nanos / rate);
  }

  @Override
  public long nanoTime() {
    SimThread self = SimThread.current();
    if (self != null && self.machine == this && !scheduler.isHappening()) {
      Scheduler.dieIfKilled(self);
      scheduler.looked();
      if (stopChance > 0 && scheduler.chance(stopChance)) {
        stopInside(self);
      }
    }
    return monotonic();
  }

  @Override
  public long wallMillis() {
    return WALL_START_MILLIS + TimeUnit.NANOSECONDS.toMillis((long) (scheduler.now() * rate));
  }

  @Override
  public void parkUntil(Object blocker, long untilNanos) {
    if (untilNanos - monotonic() > 0) {
      scheduler.park(self(), untilNanos);
    } else {
      scheduler.letOthersRun(self());
    }
  }

  @Override
  public void unpark(@Nullable Thread thread) {
    if (thread instanceof SimThread waiting) {
      scheduler.unpark(waiting);
    }
  }

  private static SimThread self() {
    SimThread self = SimThread.current();
    if (self == null) {
      throw new IllegalStateException(Thread.currentThread() + " is not of this world");
    }
    return self;
  }

  /** Sleeps on this machine; for the simulation's own code. */
  public void pause(long nanos) throws InterruptedException {
    long until = monotonic() + nanos;
    while (until - monotonic() > 0) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      scheduler.park(self(), until);
    }
  }

  // --- faults ---------------------------------------------------------------------------------

  /** Whether the thread may run now. */
  boolean lets(SimThread thread) {
    return runs() && (stoppedInside == null || stoppedInside == thread);
  }

  public boolean runs() {
    return !dead && stopped == 0 && !asleep;
  }

  /** Whether a thread was stopped where it may hold monitors. */
  public boolean isStoppedInside() {
    return stoppedInside != null;
  }

  public boolean isStoppedInside(SimThread thread) {
    return stoppedInside == thread;
  }

  public boolean isDead() {
    return dead;
  }

  /** The thread parks voluntarily, or has ended, so it holds no monitor. */
  void leaves(SimThread thread) {
    if (stoppedInside == thread) {
      stoppedInside = null;
    }
  }

  /** From now on every reading of the clock may be followed by a stop. */
  public void stopAtRandom(double chance, long longest) {
    stopChance = chance;
    longestStop = longest;
  }

  private void stopInside(SimThread self) {
    if (stoppedInside != null || !runs()) {
      return;
    }
    stoppedInside = self;
    stop(1 + scheduler.random(longestStop));
    scheduler.yieldInside(self);
    stoppedInside = null;
  }

  public void stop(long nanos) {
    long from = scheduler.now();
    stopped++;
    scheduler.after(
        nanos,
        () -> {
          stopped--;
          stops.add(new Stop(from, scheduler.now()));
        });
  }

  public void sleep(long nanos) {
    if (asleep || dead) {
      return;
    }
    asleep = true;
    asleepSince = scheduler.now();
    scheduler.after(
        nanos,
        () -> {
          asleep = false;
          asleepSoFar += scheduler.now() - asleepSince;
          stops.add(new Stop(asleepSince, scheduler.now()));
        });
  }

  public void refuseThreads(boolean refuse) {
    if (refuse && !noMoreThreads) {
      noMoreThreadsSince = scheduler.now();
    } else if (noMoreThreads && !refuse) {
      shortages.add(new Stop(noMoreThreadsSince, scheduler.now()));
    }
    noMoreThreads = refuse;
  }

  /** Whether it ever failed to start a thread. */
  public boolean ranOutOfThreads() {
    return noMoreThreads || !shortages.isEmpty();
  }

  /** For how much of the given time no thread could be started. */
  public long shortOfThreads(long from, long until) {
    return within(shortages, from, until)
        + (noMoreThreads ? Math.max(0, until - Math.max(from, noMoreThreadsSince)) : 0);
  }

  /** For how much of the given time it did not run. */
  public long stopped(long from, long until) {
    long before = within(stops, from, until);
    return asleep
        ? before + within(List.of(new Stop(asleepSince, scheduler.now())), from, until)
        : before;
  }

  private static long within(List<Stop> stops, long from, long until) {
    return stops.stream()
        .mapToLong(stop -> Math.min(stop.until(), until) - Math.max(stop.from(), from))
        .filter(nanos -> nanos > 0)
        .sum();
  }

  /** For a while every grant arrives after it has ended. */
  public void beLate(long nanos) {
    late = true;
    scheduler.after(nanos, () -> late = false);
  }

  public boolean isLate() {
    return late;
  }

  /** Ends all its threads where they are; nothing that they do has any effect. */
  public void die() {
    dead = true;
  }

  // --- threads --------------------------------------------------------------------------------

  private void requireThreads() {
    if (noMoreThreads) {
      throw new OutOfMemoryError("unable to create native thread: possibly out of memory");
    }
  }

  /** A thread of the program, or of a driver. */
  public SimThread run(String threadName, Runnable task) {
    SimThread thread = new SimThread(this, scheduler.nextThreadNumber(), threadName, task);
    thread.start();
    return thread;
  }

  @Override
  public Thread thread(String threadName, Runnable task) {
    return new SimThread(this, scheduler.nextThreadNumber(), threadName, task) {
      @Override
      public synchronized void start() {
        requireThreads();
        super.start();
      }
    };
  }

  @Override
  public ExecutorService pool(String poolName, int most, boolean virtual) {
    boolean unlimited = most == Integer.MAX_VALUE || (virtual && virtualThreads);
    return new Pool(
        poolName,
        unlimited ? Integer.MAX_VALUE : Math.min(most, Math.max(virtual ? 1 : 2, poolSize)));
  }

  @Override
  public Reference<Object> weak(Object object) {
    WeakReference<Object> reference = new WeakReference<>(object);
    weak.add(reference);
    return reference;
  }

  /**
   * As if the program no longer referred to the object, and the garbage had been collected.
   *
   * @return false if the client would not notice
   */
  public boolean forget(Lease lease) {
    boolean noticed = false;
    for (Reference<Object> reference : weak) {
      if (reference.get() instanceof Lease other && isBehind(other, lease)) {
        reference.clear();
        noticed = true;
      }
    }
    return noticed;
  }

  /** Whether it is the same lease, perhaps in a wrapper. */
  private static boolean isBehind(Lease lease, Lease seen) {
    return lease == seen
        || (!(lease instanceof MultiLease)
            && !(seen instanceof MultiLease)
            && lease.name().equals(seen.name())
            && lease.fencingToken() == seen.fencingToken());
  }

  @Override
  public long random(long bound) {
    return random.nextLong(bound);
  }

  @Override
  public byte[] unique(int count) {
    byte[] bytes = new byte[count];
    random.nextBytes(bytes);
    return bytes;
  }

  private final class Pool extends AbstractExecutorService {
    private final String poolName;
    private final int most;
    private final Queue<Runnable> queue = new ArrayDeque<>();
    private final Deque<Worker> idle = new ArrayDeque<>();
    private int workers;
    private boolean shut;

    Pool(String poolName, int most) {
      this.poolName = poolName;
      this.most = most;
    }

    @Override
    public void execute(Runnable task) {
      SimThread self = SimThread.current();
      if (self != null) {
        Scheduler.dieIfKilled(self);
      }
      if (shut) {
        throw new RejectedExecutionException(poolName + " has been shut down");
      }
      Worker free = idle.pollLast();
      if (free != null) {
        free.next = task;
        if (free.thread != null) {
          scheduler.unpark(free.thread);
        }
      } else if (workers < most) {
        requireThreads();
        workers++;
        Worker worker = new Worker(task);
        worker.thread = run(poolName + "-" + ++pooled, worker);
      } else {
        queue.add(task);
      }
    }

    private final class Worker implements Runnable {
      private @Nullable Runnable next;
      private @Nullable SimThread thread;

      Worker(Runnable first) {
        this.next = first;
      }

      @Override
      public void run() {
        try {
          Runnable task;
          while ((task = next) != null) {
            next = null;
            task.run();
            next = queue.poll();
            if (next == null && !shut) {
              idle.addLast(this);
              long until = monotonic() + KEEP_ALIVE;
              while (next == null && !shut && until - monotonic() > 0) {
                scheduler.park(self(), until);
                // As in every pool, an interrupt was meant for the task before.
                var unused = Thread.interrupted();
              }
              idle.remove(this);
            }
          }
        } finally {
          workers--;
        }
      }
    }

    @Override
    public void shutdown() {
      shut = true;
      for (Worker worker : idle) {
        if (worker.thread != null) {
          scheduler.unpark(worker.thread);
        }
      }
    }

    @Override
    public List<Runnable> shutdownNow() {
      shut = true;
      List<Runnable> left = new ArrayList<>(queue);
      queue.clear();
      return left;
    }

    @Override
    public boolean isShutdown() {
      return shut;
    }

    @Override
    public boolean isTerminated() {
      return shut && workers == 0;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) {
      throw new UnsupportedOperationException("not simulated");
    }
  }

  // --- what may be expected of it ---------------------------------------------------------------

  /** How long something took, not counting the time in which the machine could not run it. */
  public long lateness(long from, long until) {
    return until - from - stopped(from, until) - shortOfThreads(from, until);
  }

  /**
   * How late the signal of a loss may be: a sleep is noticed within a second, and after a stop
   * several threads resume one after the other.
   */
  public long tolerance() {
    return TOLERANCE
        + (asleepSoFar > 0 ? TimeUnit.SECONDS.toNanos(1) : stops.isEmpty() ? 0 : TOLERANCE);
  }

  /** Fails if a call took longer than the bound, not counting stops of the machine. */
  public void requireInTime(String rule, String what, long from, long bound) {
    long until = scheduler.now();
    long took = until - from - stopped(from, until);
    // After a stop several threads resume one after the other.
    if (took > trueNanos(bound) + tolerance()) {
      String text = "%s took %d ms, not at most %d";
      scheduler.fail(rule, text.formatted(what, took / 1_000_000, (bound + TOLERANCE) / 1_000_000));
    }
  }

  /** Pauses the current thread, until it is interrupted. */
  public void block(long nanos) {
    try {
      pause(nanos);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
