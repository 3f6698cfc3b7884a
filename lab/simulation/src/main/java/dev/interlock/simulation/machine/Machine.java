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
 * <p>A stop may happen whenever a thread reads the time, even while it holds monitors. That thread
 * is then the first of its machine to resume.
 */
public final class Machine implements Platform {

  private static final long WALL_START_MILLIS = 1_700_000_000_000L;

  /** The lateness that is tolerated for everything that does not depend on the store. */
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

  private long totalSleep;
  private boolean asleep;
  private long asleepSince;
  private int stopped;
  private boolean dead;
  private boolean refusesThreads;
  private long refusesThreadsSince;
  private boolean delaysGrants;
  private @Nullable SimThread stoppedInside;
  private double stopChance;
  private long maxStop;
  private int pooled;

  /** A time in which the machine did not run or could not start threads. */
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

  private long awakeTime() {
    long now = asleep ? asleepSince : scheduler.now();
    return now - totalSleep;
  }

  /** {@return the time of the monotonic clock, read without the risk of a stop} */
  public long monotonic() {
    return monotonicStart + (long) (awakeTime() * rate);
  }

  /**
   * {@return the true time at which the monotonic clock will show this time, if it does not stop}
   */
  long trueTime(long monotonic) {
    long remaining = monotonic - monotonic();
    return remaining <= 0 ? scheduler.now() : scheduler.now() + (long) Math.ceil(remaining / rate);
  }

  /** {@return the true duration of a duration by the monotonic clock} */
  public long trueNanos(long nanos) {
    return (long) (nanos / rate);
  }

  @Override
  public long nanoTime() {
    SimThread self = SimThread.current();
    if (self != null && self.machine == this && !scheduler.isHandlingEvent()) {
      Scheduler.dieIfKilled(self);
      scheduler.countClockReading();
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

  /** Pauses a thread of this machine; for the simulation's own code. */
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

  boolean mayRun(SimThread thread) {
    return runs() && (stoppedInside == null || stoppedInside == thread);
  }

  public boolean runs() {
    return !dead && stopped == 0 && !asleep;
  }

  /** {@return whether a thread was stopped where it may hold monitors} */
  public boolean isStoppedInside() {
    return stoppedInside != null;
  }

  public boolean isStoppedInside(SimThread thread) {
    return stoppedInside == thread;
  }

  public boolean isDead() {
    return dead;
  }

  /** Records that the thread parks or has ended, and so holds no monitor. */
  void onVoluntaryWait(SimThread thread) {
    if (stoppedInside == thread) {
      stoppedInside = null;
    }
  }

  /** Sets the chance that a reading of the clock is followed by a stop. */
  public void stopAtRandom(double chance, long maxDuration) {
    stopChance = chance;
    maxStop = maxDuration;
  }

  private void stopInside(SimThread self) {
    if (stoppedInside != null || !runs()) {
      return;
    }
    stoppedInside = self;
    stop(1 + scheduler.random(maxStop));
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
          totalSleep += scheduler.now() - asleepSince;
          stops.add(new Stop(asleepSince, scheduler.now()));
        });
  }

  public void refuseThreads(boolean refuse) {
    if (refuse && !refusesThreads) {
      refusesThreadsSince = scheduler.now();
    } else if (refusesThreads && !refuse) {
      shortages.add(new Stop(refusesThreadsSince, scheduler.now()));
    }
    refusesThreads = refuse;
  }

  /** {@return whether the machine has ever refused to start threads} */
  public boolean ranOutOfThreads() {
    return refusesThreads || !shortages.isEmpty();
  }

  /** {@return how much of the given time no thread could be started} */
  public long threadShortage(long from, long until) {
    return overlap(shortages, from, until)
        + (refusesThreads ? Math.max(0, until - Math.max(from, refusesThreadsSince)) : 0);
  }

  /** {@return how much of the given time the machine did not run} */
  public long stoppedTime(long from, long until) {
    long before = overlap(stops, from, until);
    return asleep
        ? before + overlap(List.of(new Stop(asleepSince, scheduler.now())), from, until)
        : before;
  }

  private static long overlap(List<Stop> stops, long from, long until) {
    return stops.stream()
        .mapToLong(stop -> Math.min(stop.until(), until) - Math.max(stop.from(), from))
        .filter(nanos -> nanos > 0)
        .sum();
  }

  /** Makes every grant arrive, for some time, only after its validity has ended. */
  public void delayGrants(long nanos) {
    delaysGrants = true;
    scheduler.after(nanos, () -> delaysGrants = false);
  }

  public boolean delaysGrants() {
    return delaysGrants;
  }

  /** Ends all threads of the machine where they are. */
  public void die() {
    dead = true;
  }

  // --- threads --------------------------------------------------------------------------------

  private void requireThreads() {
    if (refusesThreads) {
      throw new OutOfMemoryError("unable to create native thread: possibly out of memory");
    }
  }

  /** Starts a thread of a program or of a driver. */
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
  public ExecutorService pool(String poolName, int maxWorkers, boolean virtual) {
    boolean unlimited = maxWorkers == Integer.MAX_VALUE || (virtual && virtualThreads);
    return new Pool(
        poolName,
        unlimited ? Integer.MAX_VALUE : Math.min(maxWorkers, Math.max(virtual ? 1 : 2, poolSize)));
  }

  @Override
  public Reference<Object> weak(Object object) {
    WeakReference<Object> reference = new WeakReference<>(object);
    weak.add(reference);
    return reference;
  }

  /**
   * Clears the engine's references to the lease, as if the program had abandoned it and it had been
   * collected.
   *
   * @return whether the engine had a reference
   */
  public boolean forget(Lease lease) {
    boolean cleared = false;
    for (Reference<Object> reference : weak) {
      if (reference.get() instanceof Lease other && isSameLease(other, lease)) {
        reference.clear();
        cleared = true;
      }
    }
    return cleared;
  }

  /** {@return whether both are the same lease, perhaps in a wrapper} */
  private static boolean isSameLease(Lease lease, Lease given) {
    return lease == given
        || (!(lease instanceof MultiLease)
            && !(given instanceof MultiLease)
            && lease.name().equals(given.name())
            && lease.fencingToken() == given.fencingToken());
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
    private final int maxWorkers;
    private final Queue<Runnable> queue = new ArrayDeque<>();
    private final Deque<Worker> idle = new ArrayDeque<>();
    private int workers;
    private boolean isShut;

    Pool(String poolName, int maxWorkers) {
      this.poolName = poolName;
      this.maxWorkers = maxWorkers;
    }

    @Override
    public void execute(Runnable task) {
      SimThread self = SimThread.current();
      if (self != null) {
        Scheduler.dieIfKilled(self);
      }
      if (isShut) {
        throw new RejectedExecutionException(poolName + " has been shut down");
      }
      Worker free = idle.pollLast();
      if (free != null) {
        free.next = task;
        if (free.thread != null) {
          scheduler.unpark(free.thread);
        }
      } else if (workers < maxWorkers) {
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
            if (next == null && !isShut) {
              idle.addLast(this);
              long until = monotonic() + KEEP_ALIVE;
              while (next == null && !isShut && until - monotonic() > 0) {
                scheduler.park(self(), until);
                // As in every pool, an interrupt was meant for the previous task.
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
      isShut = true;
      for (Worker worker : idle) {
        if (worker.thread != null) {
          scheduler.unpark(worker.thread);
        }
      }
    }

    @Override
    public List<Runnable> shutdownNow() {
      isShut = true;
      List<Runnable> remaining = new ArrayList<>(queue);
      queue.clear();
      return remaining;
    }

    @Override
    public boolean isShutdown() {
      return isShut;
    }

    @Override
    public boolean isTerminated() {
      return isShut && workers == 0;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) {
      throw new UnsupportedOperationException("not simulated");
    }
  }

  // --- limits -------------------------------------------------------------------------------

  /** {@return the time between, without the times in which the machine could not run a task} */
  public long lateness(long from, long until) {
    return until - from - stoppedTime(from, until) - threadShortage(from, until);
  }

  /**
   * {@return how late the signal of a loss may be} A sleep is noticed within a second, and after a
   * stop several threads resume one after the other.
   */
  public long tolerance() {
    return TOLERANCE
        + (totalSleep > 0 ? TimeUnit.SECONDS.toNanos(1) : stops.isEmpty() ? 0 : TOLERANCE);
  }

  /** Fails if a call took longer than the bound, not counting stops of the machine. */
  public void requireInTime(String rule, String what, long from, long bound) {
    long until = scheduler.now();
    long took = until - from - stoppedTime(from, until);
    // After a stop several threads resume one after the other.
    if (took > trueNanos(bound) + tolerance()) {
      String text = "%s took %d ms, more than %d ms";
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
