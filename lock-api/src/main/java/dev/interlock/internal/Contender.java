package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.WakeUp;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One client as a contender for one name on the store. It belongs to the client and not to a
 * thread: a head of the local queue that ends without a lease leaves it to the next head, with the
 * entry in the store's queue and the outage of the store. The store still knows it by the claim and
 * the label of the first head.
 *
 * <p>The store may grant the lock to an entry that no thread serves, and only the client can
 * release it then. So the client withdraws the entry if the next head gets no thread within a
 * request time-out.
 */
final class Contender {

  private static final int MAX_OVERTAKINGS = 8;

  private enum Phase {
    /** A head makes attempts. */
    SERVED,
    /** The head has left, and the next one has not begun. */
    UNSERVED,
    /** No head will continue the attempts. */
    ENDED
  }

  /** Withdraws the entry on the store unless a head continues the attempt in time. */
  private final class PlaceTimeout extends Timer.Event {
    private final long deadline = engine.platform.nanoTime() + engine.requestTimeout().toNanos();

    @Override
    void fire(long now) {
      if (transition(Phase.UNSERVED, Phase.ENDED)) {
        try {
          endAttempt();
        } finally {
          forget();
        }
      }
    }
  }

  private final Holdings holdings;
  private final Engine engine;
  private final LocalQueue queue;

  /** Changes under the monitor. */
  private volatile Phase phase = Phase.SERVED;

  /** The request of the head, even before a thread serves the head. */
  private volatile Request headRequest;

  /** Created when the next head may get no thread. */
  private volatile @Nullable PlaceTimeout placeTimeout;

  /** The pauses between attempts; created before the first. */
  private volatile @Nullable Pause pause;

  /** The number of waiters that overtook the present head. */
  @GuardedBy("this")
  private int overtakings;

  /** The current attempt, or the last one. */
  private volatile @Nullable StoreAttempt attempt;

  /** Whether the store has answered that the head must wait. */
  private volatile boolean waiting;

  /** Whether the store last answered this head that another client is before it. */
  private volatile boolean heldByOther;

  /** The time by which the next answer must arrive, unless there is an entry on the store. */
  private volatile long nextAnswerDue;

  /** Null once the store has answered. */
  private volatile @Nullable Outage outage;

  /** Creates a contender for its first head. */
  Contender(Holdings holdings, LocalQueue queue, Request first) {
    this.holdings = holdings;
    this.engine = holdings.engine;
    this.queue = queue;
    this.headRequest = first;
  }

  Holdings holdings() {
    return holdings;
  }

  String name() {
    return headRequest.name();
  }

  // --- its heads --------------------------------------------------------------------------------

  /**
   * Ends the service by the current head.
   *
   * @param leavesPlace whether the next head may continue the attempt in the store's queue
   */
  void detachHead(boolean leavesPlace) {
    try {
      if (!leavesPlace || !hasPlace()) {
        endAttempt();
      }
    } finally {
      waiting = false;
      heldByOther = false;
      synchronized (this) {
        phase = Phase.UNSERVED;
      }
    }
  }

  private synchronized boolean transition(Phase from, Phase to) {
    if (phase != from) {
      return false;
    }
    phase = to;
    return true;
  }

  /** Lets the next head continue; false if the contender has ended. */
  boolean resume(Request next) {
    boolean resumed = transition(Phase.UNSERVED, Phase.SERVED);
    cancelPlaceTimeout();
    headRequest = next;
    return resumed;
  }

  /** Starts the time-out of an entry in the store's queue, if there is one. Never throws. */
  void startPlaceTimeout() {
    try {
      if (hasPlace()) {
        PlaceTimeout event = placeTimeout;
        if (event == null) {
          event = new PlaceTimeout();
          placeTimeout = event;
        }
        engine.timer.schedule(event, event.deadline);
      }
    } catch (Throwable e) {
      Timer.logFailure("scheduling the time-out of a place", e);
    }
  }

  private void cancelPlaceTimeout() {
    PlaceTimeout event = placeTimeout;
    if (event != null) {
      placeTimeout = null;
      engine.timer.cancel(event);
    }
  }

  /** Undoes the attempt, because no head continues it. */
  void end() {
    try {
      cancelPlaceTimeout();
      // If the transition fails, the time-out came first, and undoes the attempt.
      if (transition(Phase.UNSERVED, Phase.ENDED)) {
        endAttempt();
      }
    } finally {
      forget();
    }
  }

  private void forget() {
    queue.clearContender(this);
    engine.signalEnd();
  }

  /** Ends the wait, because the client is being closed. Called from another thread. */
  void stopWaiting() {
    wake();
    StoreAttempt current = attempt;
    if (current != null) {
      current.stopWaiting();
    }
  }

  // --- its attempts: called by the head ---------------------------------------------------------

  @Nullable StoreAttempt attempt() {
    return attempt;
  }

  /** Makes an attempt. From here on a request may be in flight. */
  private StoreAttempt nextAttempt(Request request) {
    endAttempt();
    StoreAttempt next = StoreAttempt.of(holdings, request, waiting);
    holdings.addAttempt(next.claim(), next);
    try {
      engine.timer.start();
      attempt = next;
      // A closing thread has either seen this attempt, or is seen here.
      engine.ensureOpen();
      return next;
    } catch (Throwable e) {
      attempt = null;
      holdings.removeAttempt(next.claim());
      throw e;
    }
  }

  /** Returns the current attempt if its place can serve the request, or else a new attempt. */
  StoreAttempt attemptFor(Request request) {
    StoreAttempt current = attempt;
    return current != null && current.hasPlaceFor(request) ? current : nextAttempt(request);
  }

  private void endAttempt() {
    StoreAttempt current = attempt;
    if (current != null) {
      current.end();
    }
  }

  /** Whether there is a place in the store's queue that can serve the request. */
  boolean hasPlaceFor(Request request) {
    StoreAttempt current = attempt;
    return current != null && current.hasPlaceFor(request);
  }

  private boolean hasPlace() {
    StoreAttempt current = attempt;
    return current != null && current.place() != null;
  }

  // --- the store's answers: recorded by the head -------------------------------------------------

  void recordAnswer() {
    outage = null;
  }

  /**
   * Records that another client holds the lock or is before this one.
   *
   * @param until when the next answer must arrive
   */
  void recordHeld(long until) {
    recordAnswer();
    nextAnswerDue = until;
    heldByOther = true;
    queue.deliverAnswer();
  }

  /** Records that the store has let this client into its queue. */
  void recordJoined(boolean behindOthers) {
    Outage current = outage;
    if (current != null) {
      current.clearCurrentFailure();
    }
    waiting = behindOthers;
    if (behindOthers) {
      heldByOther = true;
      queue.deliverAnswer();
    }
  }

  void recordWaiting() {
    waiting = true;
  }

  /** Records that the store fails, and fails the waiters whose outage time-out has passed. */
  void recordFailure(Outage newOutage, long now) {
    outage = newOutage;
    heldByOther = false;
    queue.deliverAnswer();
    queue.failWaiters(this, other -> newOutage.remaining(other, now) <= 0, newOutage.failure());
  }

  @Nullable Outage outage() {
    return outage;
  }

  // --- its state --------------------------------------------------------------------------------

  boolean isWaiting() {
    return waiting;
  }

  /** Returns the head's request; null if the head does not wait, or has had no answer yet. */
  @Nullable Request waitingRequest() {
    return phase != Phase.ENDED && (waiting || currentFailure() != null) ? headRequest : null;
  }

  /** Returns the head's knowledge of the lock, for waiters whose deadline has passed. */
  LocalQueue.Answer answer() {
    LockUnavailableException failure = currentFailure();
    if (failure != null) {
      return LocalQueue.Answer.failed(failure);
    }
    return heldByOther && !isAnswerStale() ? LocalQueue.Answer.HELD : LocalQueue.Answer.PENDING;
  }

  /** Whether the lock may be free by now, because the process was stopped since the last answer. */
  private boolean isAnswerStale() {
    return !hasPlace() && engine.platform.nanoTime() - nextAnswerDue > 0;
  }

  /** Returns the failure of the present outage; null if the store answers. */
  @Nullable LockUnavailableException currentFailure() {
    Outage current = outage;
    return current == null ? null : current.currentFailure();
  }

  // --- permits that are passed on to a head that pauses -----------------------------------------

  /** The pauses of a head, during which another thread of this client may offer it a permit. */
  private static final class Pause {
    private final WakeUp wakeUp;

    /** The head's request; null if the head does not pause. */
    @GuardedBy("this")
    private @Nullable Request request;

    @GuardedBy("this")
    private @Nullable LeaseState offered;

    private volatile boolean endedByClient;

    Pause(WakeUp wakeUp) {
      this.wakeUp = wakeUp;
    }

    @Nullable LeaseState await(Request headRequest, Deadline until, boolean endsOnMessage)
        throws InterruptedException {
      LeaseState lease = null;
      boolean ended = false;
      synchronized (this) {
        request = headRequest;
      }
      try {
        while (wakeUp.await(until) && !endsOnMessage && !endedByClient) {
          // Keeps pausing.
        }
        endedByClient = false;
        ended = true;
      } finally {
        synchronized (this) {
          request = null;
          lease = offered;
          offered = null;
        }
        if (lease != null && !ended) {
          Release.releaseUnused(lease, null);
        }
      }
      return lease;
    }

    void end() {
      endedByClient = true;
      wakeUp.signal();
    }

    synchronized @Nullable LeaseState offer(Function<Request, @Nullable LeaseState> maker) {
      if (request == null || offered != null) {
        return null;
      }
      offered = maker.apply(request);
      return offered;
    }
  }

  /**
   * Pauses between two attempts.
   *
   * @param endsOnMessage whether a message of the store also ends the pause
   * @return a lease that was offered meanwhile, or null
   */
  @Nullable LeaseState pause(Request request, Deadline until, boolean endsOnMessage)
      throws InterruptedException {
    return currentPause().await(request, until, endsOnMessage);
  }

  /** Returns the wake-up for messages of the store. */
  WakeUp wakeUp() {
    return currentPause().wakeUp;
  }

  private Pause currentPause() {
    Pause current = pause;
    if (current == null) {
      current = new Pause(new WakeUp(engine.platform));
      pause = current;
      // A client that was closed before this found no wake-up to signal.
      engine.ensureOpen();
    }
    return current;
  }

  /**
   * Offers a permit to the head, if it pauses. The head takes or releases the lease; the caller
   * {@linkplain #wake wakes} it.
   *
   * @param maker makes the head's lease from its request, or returns null if that does not fit
   * @return the head's lease, or null
   */
  @Nullable LeaseState offer(Function<Request, @Nullable LeaseState> maker) {
    Pause current = pause;
    return current == null ? null : current.offer(maker);
  }

  void wake() {
    Pause current = pause;
    if (current != null) {
      current.end();
    }
  }

  /** Sets the request of the next head. Called under the monitor of the queue. */
  synchronized void setNextHead(Request next) {
    headRequest = next;
    overtakings = 0;
  }

  /** Counts an overtaking of the head, if it has had an answer; false if there were too many. */
  synchronized boolean tryOvertake() {
    return !waiting || ++overtakings <= MAX_OVERTAKINGS;
  }

  /** Whether the head could use the grant. */
  boolean canUse(HeldGrant grant) {
    return phase != Phase.ENDED && grant.fits(headRequest);
  }
}
