package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All timed events of one client, on one thread.
 *
 * <p>The thread starts with the first event, sleeps until exactly the next one, and does not wake
 * when a later one is added: a client that takes and releases locks all day wakes it once a second.
 *
 * <p>Guarded by its monitor, and called under no other. On JDKs before 24 a thread inside a monitor
 * keeps its carrier. If such threads queued for a {@link java.util.concurrent.locks.Lock} behind
 * virtual threads that need a carrier to continue, none would continue. A running thread is the
 * only one that ever holds the monitor.
 */
final class Timer implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Timer.class);

  /** An event at a certain time. Scheduled on at most one timer. */
  abstract static class Event {
    static final long NEVER = Long.MIN_VALUE;

    private volatile long due = NEVER;

    // The timer's queue uses the following fields under the timer's monitor.

    /** The time for which the event is scheduled. */
    long at;

    /** The index of the event in the queue; -1 if it is not scheduled. */
    int heapIndex = -1;

    final boolean isBefore(Event other) {
      return at - other.at < 0;
    }

    /**
     * Called on the timer's thread, after the event has left the timer. Must neither block nor call
     * foreign code.
     */
    abstract void fire(long now);

    /**
     * Sets the time at which to fire it, which the timer uses after the next {@link Timer#update}.
     */
    final void setDue(long time) {
      due = time == NEVER ? time + 1 : time;
    }

    final void clearDue() {
      due = NEVER;
    }
  }

  private static final long RETRY_NANOS = 100_000_000;
  private static final long FAR_AHEAD_NANOS = Long.MAX_VALUE / 2;

  private final Platform platform;
  private final String threadName;
  private final Runnable afterSweep;

  @GuardedBy("this")
  private final EventQueue events = new EventQueue();

  /** Null if there is no thread. Changes under the monitor. */
  private volatile @Nullable Thread thread;

  @GuardedBy("this")
  private long sleepingUntil;

  @GuardedBy("this")
  private boolean closed;

  /**
   * Creates a timer, without a thread yet.
   *
   * @param afterSweep called on the timer's thread after all due events were fired
   */
  Timer(Platform platform, String threadName, Runnable afterSweep) {
    this.platform = platform;
    this.threadName = threadName;
    this.afterSweep = afterSweep;
  }

  /**
   * Ensures that there is a thread, so that no lease is acquired whose end could not be reported.
   *
   * @throws OutOfMemoryError if no thread can be started
   */
  void start() {
    if (thread != null) {
      return;
    }
    synchronized (this) {
      if (thread == null && !closed) {
        Thread starting = platform.thread(threadName, this::run);
        starting.start();
        thread = starting;
      }
    }
  }

  /** Schedules the event, or moves it if it is scheduled already. Does nothing after close. */
  void schedule(Event event, long at) {
    event.setDue(at);
    update(event);
  }

  /** Removes the event, if it is scheduled. It may be firing at this moment. */
  void cancel(Event event) {
    event.clearDue();
    update(event);
  }

  /**
   * Moves the event to its current due time. If several threads change that time and call this, the
   * last call sees the latest change.
   */
  void update(Event event) {
    synchronized (this) {
      if (closed) {
        return;
      }
      long at = event.due;
      events.remove(event);
      if (at == Event.NEVER) {
        return;
      }
      events.add(event, at);
      if (at - sleepingUntil < 0) {
        sleepingUntil = at;
        platform.unpark(thread);
      }
    }
    try {
      start();
    } catch (Throwable e) {
      // The event stays, and the next event retries.
      log.error("the thread of the timer could not be started", e);
    }
  }

  synchronized int size() {
    return events.size();
  }

  synchronized boolean isClosed() {
    return closed;
  }

  @Override
  public synchronized void close() {
    closed = true;
    events.clear();
    platform.unpark(thread);
  }

  private void run() {
    try {
      while (!isClosed()) {
        sweep();
        platform.parkUntil(this, nextWake());
        // Cleared, because the status would make every park return.
        boolean ignored = Thread.interrupted();
      }
    } finally {
      synchronized (this) {
        thread = null;
      }
    }
  }

  // The thread survives every failure: without it no loss would be signalled.
  private void sweep() {
    boolean fired = false;
    Event due;
    while ((due = pollDue()) != null) {
      fired = true;
      fire(due);
    }
    if (fired) {
      runGuarded("the work after timed events", afterSweep);
    }
  }

  /** Fires the event, and schedules it again if that fails. Allocates nothing. */
  private void fire(Event due) {
    try {
      due.fire(platform.nanoTime());
    } catch (Throwable e) {
      logFailure("a timed event", e);
      try {
        schedule(due, platform.nanoTime() + RETRY_NANOS);
      } catch (Throwable dropped) {
        logFailure("rescheduling a timed event", dropped);
      }
    }
  }

  /** Runs a step; logs a failure, if possible. */
  static void runGuarded(String what, Runnable step) {
    try {
      step.run();
    } catch (Throwable e) {
      logFailure(what, e);
    }
  }

  /** Logs a failure, if possible. */
  static void logFailure(String what, Throwable why) {
    try {
      log.error("{} failed", what, why);
    } catch (Throwable unlogged) {
      // There may be no memory even for logging.
      return;
    }
  }

  private synchronized long nextWake() {
    Event next = events.first();
    sleepingUntil = next == null ? platform.nanoTime() + FAR_AHEAD_NANOS : next.at;
    return closed ? platform.nanoTime() : sleepingUntil;
  }

  private synchronized @Nullable Event pollDue() {
    Event next = events.first();
    if (next == null || next.at - platform.nanoTime() > 0) {
      return null;
    }
    events.remove(next);
    return next;
  }
}
