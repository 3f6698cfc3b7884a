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
 * The waiters of one client for one name, in the order of their arrival.
 *
 * <p>One of them at a time is the head: it contends on the store, or holds the lock. So any number
 * of waiting threads is one contender to the store. The head leaves by {@link #promoteNext}, which
 * makes the next waiter the head. After a handoff the waiter that took the lease over is the head,
 * and the grant stays. A queue without a head is empty. It is kept for the next head or ends; a
 * queue that has ended accepts no more heads and waiters.
 */
final class LocalQueue {

  /** A waiter. Called outside the queue's own monitors; must not block. */
  interface Waiter {
    Request request();

    /** Returns the time at which the waiter entered the queue, on the client's monotonic clock. */
    long enteredAt();

    /**
     * Makes the waiter the head, which must call {@link LocalQueue#promoteNext} later.
     *
     * @return false if it no longer waits: the caller then promotes the next waiter
     */
    boolean onHead();

    /**
     * Gives the waiter a lease with the grant of another lease of this client. The waiter is the
     * head unless the grant is shared.
     */
    void onHandoff(LeaseState lease);

    /** Passes on the head's answer, which the waiter {@linkplain LocalQueue#answerTo asked} for. */
    void onAnswer(Answer answer);

    /** Fails the waiter, which has left the queue, because its outage time-out has passed. */
    void onOutage(LockUnavailableException problem);

    /** Ends the waiter, which has left the queue, because the client is being closed. */
    void onClose();
  }

  /**
   * The head's knowledge of the lock.
   *
   * @param failure the reason why the store cannot serve, if it has failed
   */
  record Answer(Kind kind, @Nullable LockUnavailableException failure) {
    enum Kind {
      /** The store has not answered the head yet. */
      PENDING,
      HELD,
      FAILED,
      /** The waiter that asks is the head by now, or is about to be called. */
      NOT_WAITING
    }

    static final Answer PENDING = new Answer(Kind.PENDING, null);
    static final Answer HELD = new Answer(Kind.HELD, null);
    static final Answer NOT_WAITING = new Answer(Kind.NOT_WAITING, null);

    static Answer failed(LockUnavailableException failure) {
      return new Answer(Kind.FAILED, failure);
    }
  }

  /** The result of entering a queue. */
  private enum Entry {
    HEAD,
    BEHIND,
    ENDED
  }

  /** Marks a queue that has ended. */
  private static final LinkedHashSet<Waiter> ENDED = new LinkedHashSet<>();

  private final Index index;
  private final String name;

  /** Only a queue with a head has waiters. */
  private volatile boolean hasHead = true;

  /** The contender of the head; a head that ends without a lease leaves it to the next. */
  private volatile @Nullable Contender contender;

  private volatile @Nullable HeldGrant grant;

  /** The kind of share that all in the queue ask for. Changes before there is a head. */
  private volatile Share share;

  /** Null until the head's first waiter. */
  private volatile @Nullable LinkedHashSet<Waiter> waiters;

  /** The waiters whose deadline has passed, and that stay for the head's first answer. */
  @GuardedBy("this")
  private @Nullable List<Waiter> awaitingAnswer;

  private LocalQueue(Index index, String name, Share share) {
    this.index = index;
    this.name = name;
    this.share = share;
  }

  // --- its waiters ------------------------------------------------------------------------------

  /** Makes the caller the head if there is none, or else adds the waiter, if any, behind it. */
  @SuppressWarnings("ReferenceEquality")
  private synchronized Entry enter(Share wanted, @Nullable Waiter waiter) {
    LinkedHashSet<Waiter> queued = waiters;
    if (queued == ENDED) {
      return Entry.ENDED;
    }
    if (!hasHead) {
      share = wanted;
      hasHead = true;
      return Entry.HEAD;
    }
    requireAgreement(wanted);
    if (waiter != null) {
      if (queued == null) {
        queued = new LinkedHashSet<>();
        waiters = queued;
      }
      queued.add(waiter);
    }
    return Entry.BEHIND;
  }

  private void requireAgreement(Share wanted) {
    Share current = share;
    if (!current.agreesWith(wanted)) {
      throw wanted.disagreement(name, current);
    }
  }

  /**
   * Removes a waiter.
   *
   * @return true if it was waiting; false if it has become the head, was taken by {@link
   *     #takeNext}, or is about to be called
   */
  synchronized boolean leave(Waiter waiter) {
    return waiters != null && waiters.remove(waiter);
  }

  /**
   * Returns what the head knows about the lock, for a waiter whose deadline has passed. If the head
   * has had no answer yet, the waiter stays in the queue, and is {@linkplain Waiter#onAnswer
   * called} with the first answer. Otherwise it has left.
   */
  Answer answerTo(Waiter waiter) {
    endOverdueGrant();
    synchronized (this) {
      LinkedHashSet<Waiter> queued = waiters;
      if (queued == null || !queued.contains(waiter)) {
        return Answer.NOT_WAITING;
      }
      Answer answer = answer();
      if (answer.kind() == Answer.Kind.PENDING) {
        if (awaitingAnswer == null) {
          awaitingAnswer = new ArrayList<>();
        }
        awaitingAnswer.add(waiter);
      } else {
        queued.remove(waiter);
      }
      return answer;
    }
  }

  private Answer answer() {
    Contender head = contender;
    if (grant != null) {
      return Answer.HELD;
    }
    return head == null ? Answer.PENDING : head.answer();
  }

  /** Ends a grant that is over, which may not be noticed yet after a sleep of the machine. */
  private void endOverdueGrant() {
    HeldGrant current = grant;
    if (current != null) {
      current.endOverdue();
    }
  }

  /**
   * Passes the head's answer to the waiters that {@linkplain #answerTo asked}. Under no monitor.
   */
  void deliverAnswer() {
    Answer answer = waiters == null ? Answer.PENDING : answer();
    Waiter waiter;
    while (answer.kind() != Answer.Kind.PENDING && (waiter = takeAwaitingAnswer()) != null) {
      try {
        waiter.onAnswer(answer);
      } catch (Throwable e) {
        Timer.logFailure("passing an answer to a waiter", e);
      }
    }
  }

  /** Removes one of the waiters that asked; null if there is none. */
  private synchronized @Nullable Waiter takeAwaitingAnswer() {
    List<Waiter> all = awaitingAnswer;
    while (all != null && !all.isEmpty()) {
      Waiter waiter = all.remove(all.size() - 1);
      if (leave(waiter)) {
        return waiter;
      }
    }
    awaitingAnswer = null;
    return null;
  }

  /**
   * Removes and fails the waiters whose outage time-out has passed. Under no monitor. Does nothing
   * unless the caller is the contender of the head.
   */
  void failWaiters(Contender head, Predicate<Request> condition, LockUnavailableException problem) {
    Waiter waiter;
    while (contender == head && (waiter = takeFirst(condition)) != null) {
      try {
        waiter.onOutage(problem);
      } catch (Throwable e) {
        Timer.logFailure("reporting an outage to a waiter", e);
      }
    }
  }

  /** Removes the first waiter whose request meets the condition; null if there is none. */
  private synchronized @Nullable Waiter takeFirst(Predicate<Request> condition) {
    LinkedHashSet<Waiter> queued = waiters;
    if (queued != null) {
      for (Waiter waiter : queued) {
        if (condition.test(waiter.request())) {
          queued.remove(waiter);
          return waiter;
        }
      }
    }
    return null;
  }

  /**
   * Takes the first waiter, if it fits: the head for its own place, a shared lease for its grant.
   * The caller must then call the waiter.
   *
   * @return the waiter, removed, or null if there is none or the first does not fit
   */
  synchronized @Nullable Waiter takeNext(Predicate<Waiter> fits) {
    LinkedHashSet<Waiter> queued = waiters;
    if (queued == null || queued.isEmpty()) {
      return null;
    }
    Waiter first = queued.iterator().next();
    if (!fits.test(first)) {
      return null;
    }
    queued.remove(first);
    return first;
  }

  // --- its head ---------------------------------------------------------------------------------

  /** Ends the current head, and makes the next waiter the head. Called by the head. */
  void promoteNext() {
    // A loop, not a recursion: more waiters may have ended than a stack is deep.
    while (true) {
      Waiter next;
      Contender previous;
      synchronized (this) {
        grant = null;
        next = takeNext(first -> true);
        previous = contender;
        if (next != null && previous != null) {
          previous.setNextHead(next.request());
        } else if (next == null && previous == null) {
          hasHead = false;
          awaitingAnswer = null;
          waiters = ENDED;
          if (index.keeps(this)) {
            waiters = null;
          }
          return;
        }
      }
      if (next != null) {
        if (next.onHead()) {
          return;
        }
      } else if (previous != null) {
        try {
          previous.end();
        } catch (Throwable e) {
          Timer.logFailure("ending a contender", e);
        }
      }
    }
  }

  /** Returns the contender of the head, or of one before it; null if there is none. */
  @Nullable Contender contender() {
    return contender;
  }

  /** Lets a head continue the contender of a previous head, or creates another. */
  Contender contenderFor(Request head, Holdings holdings) {
    Contender previous = contender;
    if (previous != null && previous.resume(head)) {
      return previous;
    }
    Contender created = new Contender(holdings, this, head);
    setContender(created);
    return created;
  }

  @GuardedBy("this")
  private void requireHead() {
    if (!hasHead) {
      throw new IllegalStateException("only the head of a queue has a contender or a grant");
    }
  }

  /** Sets the contender of the head. Called by the head. */
  synchronized void setContender(Contender first) {
    requireHead();
    contender = first;
  }

  synchronized void clearContender(Contender former) {
    if (contender == former) {
      contender = null;
    }
  }

  /** Returns the grant of the head; null if it has none yet. */
  @Nullable HeldGrant grant() {
    return grant;
  }

  /** Sets the grant of the head, which ends its contender. Called by the head. */
  void setGrant(HeldGrant granted) {
    synchronized (this) {
      requireHead();
      grant = granted;
      contender = null;
    }
    deliverAnswer();
  }

  synchronized void clearGrant(HeldGrant former) {
    if (grant == former) {
      grant = null;
    }
  }

  // --- its state --------------------------------------------------------------------------------

  /**
   * Whether the head holds the lock, or the store has answered that another client does.
   *
   * @throws LockConfigurationException if the name is in use for another kind of lock
   */
  boolean isBusy(Share wanted) {
    endOverdueGrant();
    if (!hasHead) {
      return false;
    }
    requireAgreement(wanted);
    return answer().kind() == Answer.Kind.HELD;
  }

  /** Whether the head may have waiters behind it; false only if it has none. */
  boolean mayHaveWaiters() {
    return waiters != null;
  }

  /** Whether a thread of this client was seen waiting for the lock. */
  boolean isContended() {
    Contender head = contender;
    return waiters != null || (head != null && head.isWaiting());
  }

  private synchronized int size() {
    return waiters == null ? 0 : waiters.size();
  }

  private synchronized void collect(List<Waiter> target, boolean removes) {
    LinkedHashSet<Waiter> queued = waiters;
    if (queued != null) {
      target.addAll(queued);
      if (removes) {
        queued.clear();
      }
    }
  }

  /** The queues of one client, by name. */
  static final class Index {

    private final int maxIdle;
    private final ConcurrentHashMap<String, LocalQueue> queues = new ConcurrentHashMap<>();

    /** Stands for a queue that does not exist. */
    private final LocalQueue absent = new LocalQueue(this, "", Share.EXCLUSIVE);

    /**
     * Creates an empty index.
     *
     * @param maxIdle the number of queues up to which those without a head are kept
     */
    Index(int maxIdle) {
      this.maxIdle = maxIdle;
      absent.hasHead = false;
    }

    /** Returns the queue of a name; an empty queue if there is none. */
    LocalQueue of(String name) {
      return queues.getOrDefault(name, absent);
    }

    /**
     * Makes the caller the head if there is no head, and otherwise does nothing.
     *
     * @throws LockConfigurationException if the name is in use for another kind of lock
     */
    boolean tryEnter(String name, Share share) {
      return enter(name, share, null);
    }

    /**
     * Enters a queue.
     *
     * @param waiter the waiter to add behind a head; null for none
     * @return true if the caller is the head at once; the waiter is then not called
     * @throws LockConfigurationException if the name is in use for another kind of lock
     */
    boolean enter(String name, Share share, @Nullable Waiter waiter) {
      while (true) {
        LocalQueue queue = queues.get(name);
        if (queue == null) {
          queue = queues.putIfAbsent(name, new LocalQueue(this, name, share));
          if (queue == null) {
            return true;
          }
        }
        Entry entry = queue.enter(share, waiter);
        if (entry != Entry.ENDED) {
          return entry == Entry.HEAD;
        }
        queues.remove(name, queue);
      }
    }

    /** Whether a queue without a head stays; otherwise it is removed. */
    private boolean keeps(LocalQueue queue) {
      return queues.size() <= maxIdle || !queues.remove(queue.name, queue);
    }

    /** Removes all waiters; the heads stay. */
    List<Waiter> drain() {
      List<Waiter> drained = new ArrayList<>();
      queues.values().forEach(queue -> queue.collect(drained, true));
      return drained;
    }

    Stream<Contender> contenders() {
      return queues.values().stream().map(LocalQueue::contender).filter(Objects::nonNull);
    }

    Stream<HeldGrant> grants() {
      return queues.values().stream().map(LocalQueue::grant).filter(Objects::nonNull);
    }

    /** Returns the requests that wait, of heads and behind them. */
    Stream<Request> waitingRequests() {
      List<Waiter> behind = new ArrayList<>();
      queues.values().forEach(queue -> queue.collect(behind, false));
      return Stream.concat(
          contenders().map(Contender::waitingRequest).filter(Objects::nonNull),
          behind.stream().map(Waiter::request));
    }

    /** Returns the number of waiters behind the heads. */
    int waiterCount() {
      return queues.values().stream().mapToInt(LocalQueue::size).sum();
    }

    /** Returns the number of queues with a head. */
    int size() {
      return (int) queues.values().stream().filter(queue -> queue.hasHead).count();
    }
  }
}
