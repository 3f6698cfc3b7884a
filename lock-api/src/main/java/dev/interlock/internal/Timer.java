package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All timed events of one client, on one thread.
 *
 * <p>The thread starts with the first event, sleeps exactly until the next one, and is not woken
 * when a later one is added: a client that takes and releases locks all day wakes it once a second.
 *
 * <p>Guarded by its monitor, and called under no other. On JDKs before 24 a thread inside a monitor
 * keeps its carrier. If such threads queued for a {@link java.util.concurrent.locks.Lock} behind
 * virtual threads that need a carrier to continue, none would continue. A monitor is only ever held
 * by a thread that is running.
 */
final class Timer implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Timer.class);

  /** Something that happens at a time. Scheduled on at most one timer. */
  abstract static class Event {
    static final long NEVER = Long.MIN_VALUE;

    private volatile long due = NEVER;

    // These belong to the timer's queue, and are guarded by the timer.

    /** When it is scheduled for. */
    long at;

    /** Its place in the queue; -1 if it is not scheduled. */
    int place = -1;

    final boolean isBefore(Event other) {
      return at - other.at < 0;
    }

    /**
     * Called on the timer's thread, after the event has left the timer. Must neither block nor call
     * foreign code.
     */
    abstract void fire(long now);

    /** When it is to be fired; the timer knows after the next {@link Timer#update}. */
    final void due(long time) {
      due = time == NEVER ? time + 1 : time;
    }

    final void notDue() {
      due = NEVER;
    }
  }

  private static final long RETRY = 100_000_000;
  private static final long NEVER = Long.MAX_VALUE / 2;

  private final Platform platform;
  private final String threadName;
  private final Runnable afterSweep;

  @GuardedBy("this")
  private final EventQueue events = new EventQueue();

  /** Null if there is none. Changes under the monitor. */
  private volatile @Nullable Thread thread;

  @GuardedBy("this")
  private long sleepingUntil;

  @GuardedBy("this")
  private boolean closed;

  /**
   * Makes a timer; no thread yet.
   *
   * @param afterSweep called on the timer's thread when all due events have been fired
   */
  Timer(Platform platform, String threadName, Runnable afterSweep) {
    this.platform = platform;
    this.threadName = threadName;
    this.afterSweep = afterSweep;
  }

  /**
   * Makes sure that there is a thread, so that no lease is acquired whose end could not be
   * reported.
   *
   * @throws OutOfMemoryError if there can be none
   */
  void start() {
    if (thread != null) {
      return;
    }
    synchronized (this) {
      if (thread == null && !closed) {
        Thread made = platform.thread(threadName, this::run);
        made.start();
        thread = made;
      }
    }
  }

  /** Schedules the event, or moves it if it is scheduled already. After close: does nothing. */
  void schedule(Event event, long at) {
    event.due(at);
    update(event);
  }

  /** Removes the event, if it is scheduled. It may be firing at this moment. */
  void cancel(Event event) {
    event.notDue();
    update(event);
  }

  /**
   * Moves the event to its current due time. Of several threads that change that time and call
   * this, the last one to call sees the latest change.
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
      // The event stays, and the next one retries.
      log.error("the thread of the timer could not be started", e);
    }
  }

  /** Returns how many events are scheduled. */
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
        // Cleared, or it would make every park return.
        boolean ignored = Thread.interrupted();
      }
    } finally {
      synchronized (this) {
        thread = null;
      }
    }
  }

  // The thread survives every failure: without it no loss would be signalled any more.
  private void sweep() {
    boolean fired = false;
    Event due;
    while ((due = pollDue()) != null) {
      fired = true;
      fire(due);
    }
    if (fired) {
      survive("the work after timed events", afterSweep);
    }
  }

  /** Fires the event; if that fails, its work remains to be done. Allocates nothing. */
  private void fire(Event due) {
    try {
      due.fire(platform.nanoTime());
    } catch (Throwable e) {
      failed("a timed event", e);
      try {
        schedule(due, platform.nanoTime() + RETRY);
      } catch (Throwable dropped) {
        failed("rescheduling a timed event", dropped);
      }
    }
  }

  /** Runs it; if it fails, that is logged, if possible. */
  static void survive(String what, Runnable step) {
    try {
      step.run();
    } catch (Throwable e) {
      failed(what, e);
    }
  }

  /** Logs a failure, if possible. */
  static void failed(String what, Throwable why) {
    try {
      log.error("{} failed", what, why);
    } catch (Throwable unlogged) {
      // There may be no memory even for that.
      return;
    }
  }

  private synchronized long nextWake() {
    Event next = events.first();
    sleepingUntil = next == null ? platform.nanoTime() + NEVER : next.at;
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
