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
 * The waiters of one client for one lock, in the order of their arrival.
 *
 * <p>One of them at a time is the head: it contends on the server, or holds the lock. So any number
 * of waiting threads costs the server one contender. The head leaves by {@link #endTurn}, which
 * makes the next waiter the head; after a handoff the one that has taken the lease over is the
 * head, and the grant stays. A queue without a head is empty, and is kept for the next head or
 * ends: one that has ended accepts no more heads and waiters.
 */
final class LocalQueue {

  /** A waiter. Called outside the queue's own monitors; must not block. */
  interface Waiter {
    /** What it waits for. */
    Request request();

    /** When it entered the queue, on the client's monotonic clock. */
    long enteredAt();

    /**
     * The waiter is the head now, and must {@link LocalQueue#endTurn end its turn} later.
     *
     * @return false if it no longer waits: the caller then passes for it
     */
    boolean onHead();

    /**
     * The waiter holds the lock now, with the grant of another lease of this client. It is the head
     * unless the grant is shared.
     */
    void onHandoff(LeaseState lease);

    /** The head has had the answer for which the waiter {@linkplain LocalQueue#answerTo asked}. */
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

  /** What becomes of one who enters. */
  private enum Entry {
    HEAD,
    BEHIND,
    ENDED
  }

  /** Marks a queue that has ended. */
  private static final LinkedHashSet<Waiter> ENDED = new LinkedHashSet<>();

  private final Index index;
  private final String name;

  /** Whether there is a head; waiters are there only behind one. */
  private volatile boolean headed = true;

  /** How the head acquires the lock; a head that gives up leaves it to the next. */
  private volatile @Nullable Contender contender;

  /** What the head holds. */
  private volatile @Nullable HeldGrant grant;

  /** What the name is used as, by all in the queue. Changes before there is a head. */
  private volatile Share share;

  /** Null until the head's first waiter. */
  private volatile @Nullable LinkedHashSet<Waiter> waiters;

  /** The waiters whose time is over and who stay for the head's first answer. */
  @GuardedBy("this")
  private @Nullable List<Waiter> asking;

  private LocalQueue(Index index, String name, Share share) {
    this.index = index;
    this.name = name;
    this.share = share;
  }

  // --- those who wait ---------------------------------------------------------------------------

  /** Makes the caller the head if there is none; adds the waiter, if any, behind it otherwise. */
  @SuppressWarnings("ReferenceEquality")
  private synchronized Entry enter(Share wanted, @Nullable Waiter waiter) {
    LinkedHashSet<Waiter> line = waiters;
    if (line == ENDED) {
      return Entry.ENDED;
    }
    if (!headed) {
      share = wanted;
      headed = true;
      return Entry.HEAD;
    }
    requireAgreement(wanted);
    if (waiter != null) {
      if (line == null) {
        line = new LinkedHashSet<>();
        waiters = line;
      }
      line.add(waiter);
    }
    return Entry.BEHIND;
  }

  private void requireAgreement(Share wanted) {
    Share present = share;
    if (!present.agreesWith(wanted)) {
      throw wanted.disagreement(name, present);
    }
  }

  /**
   * Removes a waiter.
   *
   * @return true if it was still waiting; false if it has become the head, or was taken by {@link
   *     #takeNext}, or is about to be called
   */
  synchronized boolean leave(Waiter waiter) {
    return waiters != null && waiters.remove(waiter);
  }

  /**
   * Asks what the head knows of the lock, for a waiter whose time is over. If the head has no
   * answer yet, the waiter stays in the queue and is {@linkplain Waiter#onAnswer called} with the
   * first one. Otherwise it has left.
   */
  Answer answerTo(Waiter waiter) {
    endOverdueGrant();
    synchronized (this) {
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
  }

  private Answer answer() {
    Contender asked = contender;
    if (grant != null) {
      return Answer.HELD;
    }
    return asked == null ? Answer.PENDING : asked.answer();
  }

  /** Nobody may have noticed yet that its validity is over, as after a sleep of the machine. */
  private void endOverdueGrant() {
    HeldGrant held = grant;
    if (held != null) {
      held.endOverdue();
    }
  }

  /** Passes the head's answer on to those who {@linkplain #answerTo asked}. Under no monitor. */
  void tell() {
    Answer answer = waiters == null ? Answer.PENDING : answer();
    Waiter waiter;
    while (answer.kind() != Answer.Kind.PENDING && (waiter = takeAsking()) != null) {
      try {
        waiter.onAnswer(answer);
      } catch (Throwable e) {
        Timer.failed("passing an answer to a waiter", e);
      }
    }
  }

  /** Removes one of those who asked; null if there is none. */
  private synchronized @Nullable Waiter takeAsking() {
    List<Waiter> all = asking;
    while (all != null && !all.isEmpty()) {
      Waiter waiter = all.remove(all.size() - 1);
      if (leave(waiter)) {
        return waiter;
      }
    }
    asking = null;
    return null;
  }

  /**
   * Removes and fails those waiters whose patience with the store has ended. Under no monitor; does
   * nothing unless the caller is the head's contender.
   */
  void fail(Contender head, Predicate<Request> impatient, LockUnavailableException problem) {
    Waiter waiter;
    while (contender == head && (waiter = take(impatient)) != null) {
      try {
        waiter.onOutage(problem);
      } catch (Throwable e) {
        Timer.failed("reporting an outage to a waiter", e);
      }
    }
  }

  /** Removes the first of those that are meant; null if there is none. */
  private synchronized @Nullable Waiter take(Predicate<Request> those) {
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

  /**
   * Takes the first waiter, if it fits: the head for its own place, a shared lease for its grant.
   * The caller must then call the waiter.
   *
   * @return the first waiter, removed, or null if there is none or it does not fit
   */
  synchronized @Nullable Waiter takeNext(Predicate<Waiter> fits) {
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

  // --- its head ---------------------------------------------------------------------------------

  /** Ends the head's turn. Called by the head. */
  void endTurn() {
    // A loop, not a recursion: more waiters may have given up than a stack is deep.
    while (true) {
      Waiter next;
      Contender left;
      synchronized (this) {
        grant = null;
        next = takeNext(first -> true);
        left = contender;
        if (next != null && left != null) {
          left.noteNextHead(next.request());
        } else if (next == null && left == null) {
          headed = false;
          asking = null;
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
      } else if (left != null) {
        try {
          left.end();
        } catch (Throwable e) {
          Timer.failed("ending a contender", e);
        }
      }
    }
  }

  /** The contender of the head, or of one before it that gave up; null if there is none. */
  @Nullable Contender contender() {
    return contender;
  }

  /** Lets the head continue the contender of one before it, or makes another. */
  Contender contenderFor(Request head, Holdings holdings) {
    Contender left = contender;
    if (left != null && left.resume(head)) {
      return left;
    }
    Contender made = new Contender(holdings, this, head);
    begin(made);
    return made;
  }

  @GuardedBy("this")
  private void requireHead() {
    if (!headed) {
      throw new IllegalStateException("only the head of a queue has a contender or a grant");
    }
  }

  /** Sets the contender of the head. Called by the head. */
  synchronized void begin(Contender first) {
    requireHead();
    contender = first;
  }

  /** The contender has ended. There may be another by now. */
  synchronized void end(Contender former) {
    if (contender == former) {
      contender = null;
    }
  }

  /** The grant of the head; null if it has none yet. */
  @Nullable HeldGrant grant() {
    return grant;
  }

  /** Sets the grant of the head, which ends its contender. Called by the head. */
  void begin(HeldGrant granted) {
    synchronized (this) {
      requireHead();
      grant = granted;
      contender = null;
    }
    tell();
  }

  /** The grant has ended. There may be another by now. */
  synchronized void end(HeldGrant former) {
    if (grant == former) {
      grant = null;
    }
  }

  // --- what others see --------------------------------------------------------------------------

  /**
   * Whether the head holds the lock, or the store has answered it that another client does.
   *
   * @throws LockConfigurationException if the name is in use as something else
   */
  boolean isBusy(Share wanted) {
    endOverdueGrant();
    if (!headed) {
      return false;
    }
    requireAgreement(wanted);
    return answer().kind() == Answer.Kind.HELD;
  }

  /** Whether the head may have waiters behind it; false only if it has none. */
  boolean mayHaveWaiters() {
    return waiters != null;
  }

  /** Whether somebody has been seen to wait for the lock in this client. */
  boolean isContended() {
    Contender head = contender;
    return waiters != null || (head != null && head.isWaiting());
  }

  private synchronized int size() {
    return waiters == null ? 0 : waiters.size();
  }

  private synchronized void drainTo(List<Waiter> drained, boolean removes) {
    LinkedHashSet<Waiter> line = waiters;
    if (line != null) {
      drained.addAll(line);
      if (removes) {
        line.clear();
      }
    }
  }

  /** The queues of one client, by the names of the locks. */
  static final class Index {

    private final int kept;
    private final ConcurrentHashMap<String, LocalQueue> queues = new ConcurrentHashMap<>();

    /** Stands for the queues that are not there. */
    private final LocalQueue none = new LocalQueue(this, "", Share.EXCLUSIVE);

    /**
     * Makes one without queues.
     *
     * @param kept with no more queues than this, those without a head stay
     */
    Index(int kept) {
      this.kept = kept;
      none.headed = false;
    }

    /** Returns the queue of a name; an empty one if there is none. */
    LocalQueue of(String name) {
      return queues.getOrDefault(name, none);
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
     * Enters a queue.
     *
     * @param waiter who waits if there is a head; null for nobody
     * @return true if the caller is the head at once; the waiter is then not called
     * @throws LockConfigurationException if the name is in use as something else
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
      return queues.size() <= kept || !queues.remove(queue.name, queue);
    }

    /** Removes all waiters; the heads stay. */
    List<Waiter> drain() {
      List<Waiter> drained = new ArrayList<>();
      queues.values().forEach(queue -> queue.drainTo(drained, true));
      return drained;
    }

    Stream<Contender> contenders() {
      return queues.values().stream().map(LocalQueue::contender).filter(Objects::nonNull);
    }

    Stream<HeldGrant> grants() {
      return queues.values().stream().map(LocalQueue::grant).filter(Objects::nonNull);
    }

    /** Returns what is waited for, by heads and behind them. */
    Stream<Request> waitingRequests() {
      List<Waiter> behind = new ArrayList<>();
      queues.values().forEach(queue -> queue.drainTo(behind, false));
      return Stream.concat(
          contenders().map(Contender::waitingRequest).filter(Objects::nonNull),
          behind.stream().map(Waiter::request));
    }

    /** Returns how many wait behind the heads. */
    int waiting() {
      return queues.values().stream().mapToInt(LocalQueue::size).sum();
    }

    /** Returns for how many names there is a head. */
    int size() {
      return (int) queues.values().stream().filter(queue -> queue.headed).count();
    }
  }
}
