package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Deadline;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All timed events of one client, on one thread.
 *
 * <p>A binary heap in which every event knows its place, so that moving and cancelling cost O(log
 * n) and an event allocates nothing. The thread starts with the first event, sleeps exactly until
 * the next one, and is not woken when a later one is added: a client that takes and releases locks
 * all day wakes it once a second.
 *
 * <p>Guarded by its monitor, and called under no other. On JDKs before 24 a thread inside a monitor
 * keeps its carrier. If such threads had to queue for a {@link java.util.concurrent.locks.Lock}
 * behind virtual threads that need a carrier to go on, nobody would go on. A monitor is only ever
 * held by a thread that is running.
 */
final class Timer implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Timer.class);

  /** Something that happens at a time. Scheduled on at most one timer. */
  abstract static class Event {
    static final long NEVER = Long.MIN_VALUE;

    private volatile long due = NEVER;
    private long at;
    private int index = -1;

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

  private final Platform platform;
  private final String threadName;
  private final Runnable afterSweep;

  @GuardedBy("this")
  private @Nullable Event[] heap = new Event[16];

  @GuardedBy("this")
  private int size;

  private volatile boolean running;

  @GuardedBy("this")
  private @Nullable Thread thread;

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
   * Makes sure that there is a thread, so that a lease is not acquired if nobody could tell its
   * end.
   *
   * @throws OutOfMemoryError if there can be none
   */
  void start() {
    if (running) {
      return;
    }
    synchronized (this) {
      if (running || closed) {
        return;
      }
      running = true;
    }
    boolean started = false;
    try {
      platform.thread(threadName, this::run).start();
      started = true;
    } finally {
      if (!started) {
        running = false;
      }
    }
  }

  /** Schedules the event, or moves it if it is scheduled already. After close: does nothing. */
  void schedule(Event event, long at) {
    event.due(at);
    update(event);
  }

  /** Takes the event out, if it is in. It may be firing at this moment. */
  void cancel(Event event) {
    event.notDue();
    update(event);
  }

  /**
   * Puts the event where it belongs by the time for which it is due now. Of several threads that
   * change that time and call this, the last one to call finds the latest change.
   */
  void update(Event event) {
    synchronized (this) {
      if (closed) {
        return;
      }
      long at = event.due;
      if (at == Event.NEVER) {
        if (event.index >= 0) {
          removeAt(event.index);
        }
        return;
      }
      put(event, at);
      if (thread != null && at - sleepingUntil < 0) {
        sleepingUntil = at;
        platform.unpark(thread);
      }
    }
    try {
      start();
    } catch (RuntimeException | Error e) {
      // The event stays, and the next one tries again.
      log.error("the timer could not be started", e);
    }
  }

  @GuardedBy("this")
  private void put(Event event, long at) {
    if (event.index < 0) {
      if (size == heap.length) {
        heap = Arrays.copyOf(heap, size * 2);
      }
      event.at = at;
      siftUp(size++, event);
      return;
    }
    long before = event.at;
    event.at = at;
    if (at - before < 0) {
      siftUp(event.index, event);
    } else {
      siftDown(event.index, event);
    }
  }

  /** Returns how many events are scheduled. */
  synchronized int size() {
    return size;
  }

  synchronized boolean isClosed() {
    return closed;
  }

  @Override
  public synchronized void close() {
    closed = true;
    size = 0;
    heap = new Event[0];
    platform.unpark(thread);
  }

  private void run() {
    synchronized (this) {
      thread = Thread.currentThread();
    }
    try {
      while (!isClosed()) {
        sweep();
        platform.parkUntil(this, nextWake());
        // Nobody may stop this thread by an interrupt: its flag would make every park return.
        boolean ignored = Thread.interrupted();
      }
    } finally {
      synchronized (this) {
        thread = null;
        running = false;
      }
    }
  }

  // Whatever fails here, the thread lives on: without it no loss would be signalled any more.
  private void sweep() {
    boolean fired = false;
    Event due;
    while ((due = pollDue()) != null) {
      fired = true;
      Event event = due;
      survive(() -> event.fire(platform.nanoTime()));
    }
    if (fired) {
      survive(afterSweep);
    }
  }

  private static void survive(Runnable step) {
    try {
      step.run();
    } catch (RuntimeException | Error e) {
      try {
        log.error("a timed event failed", e);
      } catch (RuntimeException | Error unlogged) {
        // There may be no memory even for that.
        return;
      }
    }
  }

  private synchronized long nextWake() {
    Event first = size == 0 ? null : heap[0];
    sleepingUntil = first == null ? Deadline.never(platform).nanos() : first.at;
    return closed ? platform.nanoTime() : sleepingUntil;
  }

  private synchronized @Nullable Event pollDue() {
    Event first = size == 0 ? null : heap[0];
    if (first == null || first.at - platform.nanoTime() > 0) {
      return null;
    }
    removeAt(0);
    return first;
  }

  @GuardedBy("this")
  private void removeAt(int index) {
    Event removed = at(index);
    Event last = at(--size);
    heap[size] = null;
    removed.index = -1;
    if (last != removed) {
      siftDown(index, last);
      if (last.index == index) {
        siftUp(index, last);
      }
    }
  }

  @GuardedBy("this")
  private void siftUp(int index, Event event) {
    int hole = index;
    while (hole > 0) {
      int parent = (hole - 1) >>> 1;
      Event above = at(parent);
      if (event.at - above.at >= 0) {
        break;
      }
      place(hole, above);
      hole = parent;
    }
    place(hole, event);
  }

  @GuardedBy("this")
  private void siftDown(int index, Event event) {
    int hole = index;
    while (true) {
      int child = 2 * hole + 1;
      if (child >= size) {
        break;
      }
      if (child + 1 < size && at(child + 1).at - at(child).at < 0) {
        child++;
      }
      Event below = at(child);
      if (event.at - below.at <= 0) {
        break;
      }
      place(hole, below);
      hole = child;
    }
    place(hole, event);
  }

  @GuardedBy("this")
  private void place(int index, Event event) {
    heap[index] = event;
    event.index = index;
  }

  @GuardedBy("this")
  private Event at(int index) {
    Event event = heap[index];
    if (event == null) {
      throw new IllegalStateException("hole in the heap at " + index);
    }
    return event;
  }
}
