package dev.interlock.internal;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The threads of one client that want the same lock, in the order in which they came.
 *
 * <p>Per name one of them at a time is at the head: it contends on the server, or holds the lock.
 * So many waiting threads cost the server one contender. The head leaves by {@link #pass}, which
 * makes the next waiter the head. A name without a head has no state.
 */
final class LocalQueue {

  /** Somebody in line. Called outside of the line's own locks; must not block. */
  interface Waiter {
    /** What it waits for. */
    Request request();

    /** When it got in line, on the client's monotonic clock. */
    long enteredAt();

    /**
     * The waiter is the head now, and must {@link LocalQueue#pass} some time.
     *
     * @return false if it does not want to be any more: the caller then passes for it
     */
    boolean onHead();

    /** The waiter holds the lock now, with the grant of the one before it, which is the head. */
    void onHandoff(LeaseState lease);

    /** The client is being closed, and the waiter is out of line. */
    void onClose();
  }

  /** A head, and those behind it. Ends with it: nobody is added to a queue that has ended. */
  private static final class Queue {
    /** How the head gets the lock; one that gives up leaves it to the next. */
    volatile @Nullable AcquireLoop loop;

    /** What the head has. */
    volatile @Nullable LeaseState lease;

    /** In place of waiters, where there will be none. */
    private static final LinkedHashSet<Waiter> ENDED = new LinkedHashSet<>();

    /** None until somebody has to wait, as most never have to. Never none again after that. */
    private volatile @Nullable LinkedHashSet<Waiter> waiters;

    @SuppressWarnings("ReferenceEquality")
    synchronized boolean add(Waiter waiter) {
      LinkedHashSet<Waiter> line = waiters;
      if (line == ENDED) {
        return false;
      }
      if (line == null) {
        line = new LinkedHashSet<>();
        waiters = line;
      }
      line.add(waiter);
      return true;
    }

    synchronized boolean remove(Waiter waiter) {
      LinkedHashSet<Waiter> line = waiters;
      return line != null && line.remove(waiter);
    }

    /** Takes the first waiter out of line, if there is one and it fits. */
    synchronized @Nullable Waiter poll(Predicate<Waiter> fits) {
      LinkedHashSet<Waiter> line = waiters;
      if (line == null || line.isEmpty()) {
        return null;
      }
      Waiter first = line.iterator().next();
      if (!fits.test(first)) {
        return null;
      }
      line.remove(first);
      return first;
    }

    synchronized int size() {
      LinkedHashSet<Waiter> line = waiters;
      return line == null ? 0 : line.size();
    }

    synchronized void drainTo(List<Waiter> drained) {
      LinkedHashSet<Waiter> line = waiters;
      if (line != null) {
        drained.addAll(line);
        line.clear();
      }
    }
  }

  private final ConcurrentHashMap<String, Queue> queues = new ConcurrentHashMap<>();

  /** Becomes the head if there is none, and does nothing otherwise. */
  boolean tryEnter(String name) {
    return queues.putIfAbsent(name, new Queue()) == null;
  }

  /**
   * Gets in line.
   *
   * @return true if the waiter is the head at once; it is then not called
   */
  boolean enter(String name, Waiter waiter) {
    Queue fresh = new Queue();
    while (true) {
      Queue queue = queues.putIfAbsent(name, fresh);
      if (queue == null) {
        return true;
      }
      if (queue.add(waiter)) {
        return false;
      }
    }
  }

  /**
   * Gets out of line.
   *
   * @return true if the waiter was still waiting; false if it has become the head, or was taken by
   *     {@link #takeNext}, or is about to be told so
   */
  boolean leave(String name, Waiter waiter) {
    Queue queue = queues.get(name);
    return queue != null && queue.remove(waiter);
  }

  /** Called by the head, to end its being so. */
  void pass(String name) {
    Queue queue = queues.get(name);
    // A loop, as there may be more that do not want to than a stack is deep.
    while (queue != null) {
      Waiter next;
      AcquireLoop left;
      synchronized (queue) {
        queue.lease = null;
        next = queue.poll(anybody -> true);
        left = next == null ? queue.loop : null;
        if (next == null && left == null) {
          queue.waiters = Queue.ENDED;
          queues.remove(name, queue);
          return;
        }
      }
      if (left != null) {
        Timer.survive("the end of an acquire loop", left::end);
      } else if (next != null && next.onHead()) {
        return;
      }
    }
  }

  /**
   * Called by the head, to let the first waiter take its place if that fits. The waiter is then the
   * head, and the caller must tell it how.
   *
   * @return the first waiter, out of line, or null if there is none or it does not fit
   */
  @Nullable Waiter takeNext(String name, Predicate<Waiter> fits) {
    Queue queue = queues.get(name);
    return queue == null ? null : queue.poll(fits);
  }

  /** The acquire loop of the head, or of one before it that gave up; null if there is none. */
  @Nullable AcquireLoop loop(String name) {
    Queue queue = queues.get(name);
    return queue == null ? null : queue.loop;
  }

  /** Called by the head: this is how it gets the lock. */
  void begin(AcquireLoop loop) {
    Queue queue = queues.get(loop.name());
    if (queue != null) {
      queue.loop = loop;
    }
  }

  /** The acquire loop has ended. The name may have another by now. */
  void end(AcquireLoop loop) {
    Queue queue = queues.get(loop.name());
    if (queue != null) {
      synchronized (queue) {
        if (queue.loop == loop) {
          queue.loop = null;
        }
      }
    }
  }

  /** What the head has; null if it has nothing yet. */
  @Nullable LeaseState lease(String name) {
    Queue queue = queues.get(name);
    return queue == null ? null : queue.lease;
  }

  /** Called by the head, or for whoever is the head now. This ends the acquire loop. */
  void begin(LeaseState lease) {
    Queue queue = queues.get(lease.name());
    if (queue != null) {
      synchronized (queue) {
        queue.lease = lease;
        queue.loop = null;
      }
    }
  }

  /** The lease has ended. The name may have another by now. */
  void end(LeaseState lease) {
    Queue queue = queues.get(lease.name());
    if (queue != null) {
      synchronized (queue) {
        if (queue.lease == lease) {
          queue.lease = null;
        }
      }
    }
  }

  Stream<AcquireLoop> loops() {
    return queues.values().stream().map(queue -> queue.loop).filter(Objects::nonNull);
  }

  Stream<LeaseState> leases() {
    return queues.values().stream().map(queue -> queue.lease).filter(Objects::nonNull);
  }

  /** Takes all waiters out of line; the heads stay. */
  List<Waiter> drain() {
    List<Waiter> drained = new ArrayList<>();
    queues.values().forEach(queue -> queue.drainTo(drained));
    return drained;
  }

  /** Whether somebody contends for the lock without trouble, or holds it. */
  boolean isBusy(String name) {
    Queue queue = queues.get(name);
    AcquireLoop loop = queue == null ? null : queue.loop;
    return queue != null && (loop == null || loop.trouble() == null);
  }

  /** Whether somebody may stand behind the head; false only if nobody does. */
  boolean mayBeWaitedFor(String name) {
    Queue queue = queues.get(name);
    return queue != null && queue.waiters != null;
  }

  /** Returns for how many names there is a head. */
  int size() {
    return queues.size();
  }

  /** Returns how many wait behind the heads. */
  int waiting() {
    return queues.values().stream().mapToInt(Queue::size).sum();
  }
}
