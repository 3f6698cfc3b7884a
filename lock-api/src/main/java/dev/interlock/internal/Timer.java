package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Deadline;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All timed events of one client, on one thread.
 *
 * <p>A binary heap in which every event knows its place, so that moving and cancelling cost O(log
 * n) and an event allocates nothing. The thread starts with the first event, sleeps exactly until
 * the next one, and is not woken when a later one is added: a client that takes and releases locks
 * all day wakes it once per term.
 */
final class Timer implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Timer.class);

  /** Something that happens at a time. Scheduled on at most one timer. */
  abstract static class Event {
    private long at;
    private int index = -1;

    /**
     * Called on the timer's thread, after the event has left the timer. Must neither block nor call
     * foreign code.
     */
    abstract void fire(long now);
  }

  private final Platform platform;
  private final String threadName;
  private final Runnable afterSweep;
  private final ReentrantLock lock = new ReentrantLock();

  @GuardedBy("lock")
  private @Nullable Event[] heap = new Event[16];

  @GuardedBy("lock")
  private int size;

  @GuardedBy("lock")
  private @Nullable Thread thread;

  @GuardedBy("lock")
  private long sleepingUntil;

  @GuardedBy("lock")
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

  /** Schedules the event, or moves it if it is scheduled already. After close: does nothing. */
  void schedule(Event event, long at) {
    lock.lock();
    try {
      if (closed) {
        return;
      }
      if (event.index < 0) {
        event.at = at;
        if (size == heap.length) {
          heap = Arrays.copyOf(heap, size * 2);
        }
        siftUp(size++, event);
      } else {
        long before = event.at;
        event.at = at;
        if (at - before < 0) {
          siftUp(event.index, event);
        } else {
          siftDown(event.index, event);
        }
      }
      if (thread == null) {
        sleepingUntil = at;
        thread = platform.thread(threadName, this::run);
        thread.start();
      } else if (at - sleepingUntil < 0) {
        sleepingUntil = at;
        platform.unpark(thread);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Takes the event out, if it is in. It may be firing at this moment. */
  void cancel(Event event) {
    lock.lock();
    try {
      if (!closed && event.index >= 0) {
        removeAt(event.index);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns how many events are scheduled. */
  int size() {
    lock.lock();
    try {
      return size;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      size = 0;
      heap = new Event[0];
      platform.unpark(thread);
    } finally {
      lock.unlock();
    }
  }

  private void run() {
    while (true) {
      boolean fired = false;
      Event due;
      while ((due = pollDue()) != null) {
        fired = true;
        try {
          due.fire(platform.nanoTime());
        } catch (RuntimeException | Error e) {
          // The thread must live on: without it no loss would be told any more.
          log.error("a timed event failed", e);
        }
      }
      if (fired) {
        afterSweep.run();
      }
      long until;
      lock.lock();
      try {
        if (closed) {
          return;
        }
        Event first = size == 0 ? null : heap[0];
        until = first == null ? Deadline.never(platform).nanos() : first.at;
        sleepingUntil = until;
      } finally {
        lock.unlock();
      }
      platform.parkUntil(this, until);
      // Nobody may stop this thread by an interrupt; the flag would make every park return at once.
      boolean ignored = Thread.interrupted();
    }
  }

  private @Nullable Event pollDue() {
    lock.lock();
    try {
      Event first = size == 0 ? null : heap[0];
      if (first == null || first.at - platform.nanoTime() > 0) {
        return null;
      }
      removeAt(0);
      return first;
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
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

  @GuardedBy("lock")
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

  @GuardedBy("lock")
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

  @GuardedBy("lock")
  private void place(int index, Event event) {
    heap[index] = event;
    event.index = index;
  }

  @GuardedBy("lock")
  private Event at(int index) {
    Event event = heap[index];
    if (event == null) {
      throw new IllegalStateException("hole in the heap at " + index);
    }
    return event;
  }
}
