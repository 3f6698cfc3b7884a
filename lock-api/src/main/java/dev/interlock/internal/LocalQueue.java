package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Share;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The waiters of one client for each lock, in the order of their arrival.
 *
 * <p>Per name one of them at a time is the head: it contends on the server, or holds the lock. So
 * any number of waiting threads costs the server one contender. The head leaves by {@link #pass},
 * which makes the next waiter the head. A name without a head has no state, or an empty queue that
 * is kept for the next head.
 */
final class LocalQueue {

  /** A waiter. Called outside the queue's own monitors; must not block. */
  interface Waiter {
    /** What it waits for. */
    Request request();

    /** When it entered the queue, on the client's monotonic clock. */
    long enteredAt();

    /**
     * The waiter is the head now, and must {@link LocalQueue#pass} later.
     *
     * @return false if it no longer waits: the caller then passes for it
     */
    boolean onHead();

    /**
     * The waiter holds the lock now, with the grant of another lease of this client. It is the head
     * unless the grant is shared.
     */
    void onHandoff(LeaseState lease);

    /** The head has had the answer for which the waiter {@linkplain LocalQueue#ask asked}. */
    void onAnswer(Answer answer);

    /**
     * The store has failed for longer than the waiter's patience. The waiter has left the queue.
     */
    void onOutage(LockUnavailableException problem);

    /** The client is being closed, and the waiter has left the queue. */
    void onClose();
  }

  /**
   * What the head knows of the lock.
   *
   * @param trouble why the store cannot serve, if it has failed
   */
  record Answer(Kind kind, @Nullable LockUnavailableException trouble) {
    enum Kind {
      /** The head has had no answer yet. */
      PENDING,
      HELD,
      FAILED,
      /** Not known to one that is no longer a waiter: it is the head, or is about to be called. */
      LEFT
    }

    static final Answer PENDING = new Answer(Kind.PENDING, null);
    static final Answer HELD = new Answer(Kind.HELD, null);
    static final Answer LEFT = new Answer(Kind.LEFT, null);

    static Answer failed(LockUnavailableException trouble) {
      return new Answer(Kind.FAILED, trouble);
    }
  }

  /** A head and the waiters behind it. A queue that has ended accepts no more heads and waiters. */
  private static final class Queue {
    /** Whether there is a head; waiters are there only behind one. */
    private volatile boolean headed = true;

    /** How the head acquires the lock; a head that gives up leaves it to the next. */
    volatile @Nullable Contender contender;

    /** What the head holds. */
    volatile @Nullable HeldGrant grant;

    /** What the name is used as, by all in the queue. Changes before there is a head. */
    private volatile Share share;

    Queue(Share share) {
      this.share = share;
    }

    /** Marks a queue that has ended. */
    private static final LinkedHashSet<Waiter> ENDED = new LinkedHashSet<>();

    /** Null until the head's first waiter. */
    private volatile @Nullable LinkedHashSet<Waiter> waiters;

    /** The waiters whose time is over and who stay for the head's first answer. */
    @GuardedBy("this")
    private @Nullable List<Waiter> asking;

    Answer answer() {
      Contender asked = contender;
      if (grant != null) {
        return Answer.HELD;
      }
      return asked == null ? Answer.PENDING : asked.answer();
    }

    /** Nobody may have noticed yet that its validity is over, as after a sleep of the machine. */
    void endOverdueGrant() {
      HeldGrant held = grant;
      if (held != null) {
        held.endOverdue();
      }
    }

    synchronized Answer ask(Waiter waiter) {
      LinkedHashSet<Waiter> line = waiters;
      if (line == null || !line.contains(waiter)) {
        return Answer.LEFT;
      }
      Answer answer = answer();
      if (answer.kind() == Answer.Kind.PENDING) {
        if (asking == null) {
          asking = new ArrayList<>();
        }
        asking.add(waiter);
      } else {
        line.remove(waiter);
      }
      return answer;
    }

    /** Passes the head's answer on to those who asked. Under no monitor. */
    void tell() {
      Answer answer = waiters == null ? Answer.PENDING : answer();
      Waiter waiter;
      while (answer.kind() != Answer.Kind.PENDING && (waiter = takeAsking()) != null) {
        try {
          waiter.onAnswer(answer);
        } catch (Throwable e) {
          Timer.failed("an answer", e);
        }
      }
    }

    /** Removes one of those who asked; null if there is none. */
    synchronized @Nullable Waiter takeAsking() {
      List<Waiter> all = asking;
      if (all == null) {
        return null;
      }
      while (!all.isEmpty()) {
        Waiter waiter = all.remove(all.size() - 1);
        if (remove(waiter)) {
          return waiter;
        }
      }
      asking = null;
      return null;
    }

    /** Removes the first of those that are meant; null if there is none. */
    synchronized @Nullable Waiter take(Predicate<Request> those) {
      LinkedHashSet<Waiter> line = waiters;
      if (line != null) {
        for (Waiter waiter : line) {
          if (those.test(waiter.request())) {
            line.remove(waiter);
            return waiter;
          }
        }
      }
      return null;
    }

    /** What becomes of one who enters. */
    enum Entry {
      HEAD,
      BEHIND,
      ENDED
    }

    /** Makes the caller the head if there is none; adds the waiter, if any, behind it otherwise. */
    @SuppressWarnings("ReferenceEquality")
    synchronized Entry enter(String name, Share wanted, @Nullable Waiter waiter) {
      LinkedHashSet<Waiter> line = waiters;
      if (line == ENDED) {
        return Entry.ENDED;
      }
      if (!headed) {
        share = wanted;
        headed = true;
        return Entry.HEAD;
      }
      requireAgreement(name, wanted);
      if (waiter == null) {
        return Entry.BEHIND;
      }
      if (line == null) {
        line = new LinkedHashSet<>();
        waiters = line;
      }
      line.add(waiter);
      return Entry.BEHIND;
    }

    void requireAgreement(String name, Share wanted) {
      Share present = share;
      if (!present.agreesWith(wanted)) {
        throw wanted.disagreement(name, present);
      }
    }

    synchronized boolean remove(Waiter waiter) {
      LinkedHashSet<Waiter> line = waiters;
      return line != null && line.remove(waiter);
    }

    /** Removes the first waiter, if there is one and it fits. */
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

    synchronized void addTo(List<Waiter> waiting) {
      LinkedHashSet<Waiter> line = waiters;
      if (line != null) {
        waiting.addAll(line);
      }
    }

    synchronized void drainTo(List<Waiter> drained) {
      LinkedHashSet<Waiter> line = waiters;
      if (line != null) {
        drained.addAll(line);
        line.clear();
      }
    }
  }

  private final int kept;
  private final ConcurrentHashMap<String, Queue> queues = new ConcurrentHashMap<>();

  /**
   * Makes one without waiters.
   *
   * @param kept with no more queues than this, those without a head stay
   */
  LocalQueue(int kept) {
    this.kept = kept;
  }

  /**
   * Becomes the head if there is none, and does nothing otherwise.
   *
   * @throws LockConfigurationException if the name is in use as something else
   */
  boolean tryEnter(String name, Share share) {
    return enter(name, share, null);
  }

  /**
   * Enters the queue.
   *
   * @param waiter who waits if there is a head; null for nobody
   * @return true if the caller is the head at once; the waiter is then not called
   * @throws LockConfigurationException if the name is in use as something else
   */
  boolean enter(String name, Share share, @Nullable Waiter waiter) {
    while (true) {
      Queue queue = queues.get(name);
      if (queue == null) {
        queue = queues.putIfAbsent(name, new Queue(share));
        if (queue == null) {
          return true;
        }
      }
      Queue.Entry entry = queue.enter(name, share, waiter);
      if (entry != Queue.Entry.ENDED) {
        return entry == Queue.Entry.HEAD;
      }
    }
  }

  /**
   * Leaves the queue.
   *
   * @return true if the waiter was still waiting; false if it has become the head, or was taken by
   *     {@link #takeNext}, or is about to be called
   */
  boolean leave(String name, Waiter waiter) {
    Queue queue = queues.get(name);
    return queue != null && queue.remove(waiter);
  }

  /**
   * Asks what the head knows of the lock, for a waiter whose time is over. If the head has no
   * answer yet, the waiter stays in the queue and is {@linkplain Waiter#onAnswer called} with the
   * first one. Otherwise it has left.
   */
  Answer ask(String name, Waiter waiter) {
    Queue queue = queues.get(name);
    if (queue == null) {
      return Answer.LEFT;
    }
    queue.endOverdueGrant();
    return queue.ask(waiter);
  }

  /** Passes the head's answer on to those who {@linkplain #ask asked}. Under no monitor. */
  void tell(Contender head) {
    Queue queue = queues.get(head.name());
    if (queue != null) {
      queue.tell();
    }
  }

  /**
   * Removes and fails those waiters whose patience with the store has ended. Under no monitor; does
   * nothing unless the caller is the head's contender.
   */
  void fail(Contender head, Predicate<Request> impatient, LockUnavailableException problem) {
    Queue queue = queues.get(head.name());
    if (queue == null || queue.waiters == null || queue.contender != head) {
      return;
    }
    Waiter waiter;
    while ((waiter = queue.take(impatient)) != null) {
      try {
        waiter.onOutage(problem);
      } catch (Throwable e) {
        Timer.failed("an outage", e);
      }
    }
  }

  /** Ends the head's turn. Called by the head. */
  void pass(String name) {
    Queue queue = queues.get(name);
    // A loop, not a recursion: more waiters may have given up than a stack is deep.
    while (queue != null) {
      Waiter next;
      Contender left;
      synchronized (queue) {
        queue.grant = null;
        next = queue.poll(first -> true);
        left = queue.contender;
        if (next != null && left != null) {
          left.passTo(next.request());
        } else if (next == null && left == null) {
          queue.headed = false;
          queue.asking = null;
          if (queues.size() <= kept) {
            queue.waiters = null;
          } else {
            queue.waiters = Queue.ENDED;
            queues.remove(name, queue);
          }
          return;
        }
      }
      if (next != null) {
        if (next.onHead()) {
          return;
        }
      } else if (left != null) {
        Timer.survive("the end of a contender", left::end);
      }
    }
  }

  /**
   * Takes the first waiter, if it fits: the head for its own place, a shared lease for its grant.
   * The caller must then call the waiter.
   *
   * @return the first waiter, removed, or null if there is none or it does not fit
   */
  @Nullable Waiter takeNext(String name, Predicate<Waiter> fits) {
    Queue queue = queues.get(name);
    return queue == null ? null : queue.poll(fits);
  }

  /** The contender of the head, or of one before it that gave up; null if there is none. */
  @Nullable Contender contender(String name) {
    Queue queue = queues.get(name);
    return queue == null ? null : queue.contender;
  }

  /** Sets the contender of the head. Called by the head. */
  void begin(Contender contender) {
    Queue queue = queues.get(contender.name());
    if (queue != null) {
      // Otherwise the end of a contender before it could take this one with it.
      synchronized (queue) {
        queue.contender = contender;
      }
    }
  }

  /** The contender has ended. The name may have another by now. */
  void end(Contender contender) {
    Queue queue = queues.get(contender.name());
    if (queue != null) {
      synchronized (queue) {
        if (queue.contender == contender) {
          queue.contender = null;
        }
      }
    }
  }

  /** The grant of the head; null if it has none yet. */
  @Nullable HeldGrant grant(String name) {
    Queue queue = queues.get(name);
    return queue == null ? null : queue.grant;
  }

  /** Sets the grant of the head, which ends its contender. Called by the head. */
  void begin(HeldGrant grant) {
    Queue queue = queues.get(grant.name());
    if (queue != null) {
      synchronized (queue) {
        queue.grant = grant;
        queue.contender = null;
      }
      queue.tell();
    }
  }

  /** The grant has ended. The name may have another by now. */
  void end(HeldGrant grant) {
    Queue queue = queues.get(grant.name());
    if (queue != null) {
      synchronized (queue) {
        if (queue.grant == grant) {
          queue.grant = null;
        }
      }
    }
  }

  Stream<Contender> contenders() {
    return queues.values().stream().map(queue -> queue.contender).filter(Objects::nonNull);
  }

  Stream<HeldGrant> grants() {
    return queues.values().stream().map(queue -> queue.grant).filter(Objects::nonNull);
  }

  /** Removes all waiters; the heads stay. */
  List<Waiter> drain() {
    List<Waiter> drained = new ArrayList<>();
    queues.values().forEach(queue -> queue.drainTo(drained));
    return drained;
  }

  /**
   * Whether the head holds the lock, or the store has answered it that another client does.
   *
   * @throws LockConfigurationException if the name is in use as something else
   */
  boolean isBusy(String name, Share share) {
    Queue queue = queues.get(name);
    if (queue == null) {
      return false;
    }
    queue.endOverdueGrant();
    if (!queue.headed) {
      return false;
    }
    queue.requireAgreement(name, share);
    return queue.answer().kind() == Answer.Kind.HELD;
  }

  /** Whether the head may have waiters behind it; false only if it has none. */
  boolean mayBeWaitedFor(String name) {
    Queue queue = queues.get(name);
    return queue != null && queue.waiters != null;
  }

  /** Whether somebody has been seen to wait for the lock in this client. */
  boolean isWaitedFor(String name) {
    Queue queue = queues.get(name);
    Contender head = queue == null ? null : queue.contender;
    return queue != null && (queue.waiters != null || (head != null && head.isWaiting()));
  }

  /** Returns for how many names there is a head. */
  int size() {
    return (int) queues.values().stream().filter(queue -> queue.headed).count();
  }

  boolean isEmpty() {
    return queues.values().stream().noneMatch(queue -> queue.headed);
  }

  /** Returns what is waited for, by heads and behind them. */
  Stream<Request> waitingRequests() {
    List<Waiter> behind = new ArrayList<>();
    queues.values().forEach(queue -> queue.addTo(behind));
    return Stream.concat(
        contenders().map(Contender::waitingRequest).filter(Objects::nonNull),
        behind.stream().map(Waiter::request));
  }

  /** Returns how many wait behind the heads. */
  int waiting() {
    return queues.values().stream().mapToInt(Queue::size).sum();
  }
}
