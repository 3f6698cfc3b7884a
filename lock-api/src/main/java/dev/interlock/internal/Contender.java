package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.WakeUp;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One client as a contender for one name on the store. It belongs to the client, not to a thread: a
 * head of the local queue that gives up leaves it to the next head, with the place in the store's
 * queue and the outage of the store. To the store it is still the first head's claim, with its
 * label.
 *
 * <p>The store may grant the lock to a place that no thread serves, and only the client can end
 * that. So the client gives the place up if the next head gets no thread within a request time-out.
 */
final class Contender {

  /** The limit of {@link #tryOvertake}. */
  private static final int MAX_OVERTAKINGS = 8;

  private enum Turn {
    /** A head makes attempts. */
    SERVED,
    /** Its head has left; the next one has not yet begun. */
    LEFT,
    /** No head continues it any more. */
    OVER
  }

  /** Gives the place up, unless a head continues it in time. */
  private final class Overdue extends Timer.Event {
    private final long until = engine.platform.nanoTime() + engine.requestTimeout().toNanos();

    @Override
    void fire(long now) {
      if (transition(Turn.LEFT, Turn.OVER)) {
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
  private volatile Turn turn = Turn.SERVED;

  /** What the head wants, even if no thread serves it yet. */
  private volatile Request wanted;

  /** Made when the next head may get no thread. */
  private volatile @Nullable Overdue overdue;

  /** For the pauses between attempts; made before the first. */
  private volatile @Nullable Pause pause;

  /** The number of times that a waiter behind the present head was served before it. */
  @GuardedBy("this")
  private int overtakings;

  /** The current attempt, or else the last. */
  private volatile @Nullable StoreAttempt attempt;

  /** Whether the server has answered that the head has to wait. */
  private volatile boolean waiting;

  /** Whether the last answer of the server to this head was that another client is before it. */
  private volatile boolean held;

  /** When the next answer has to be there, to a head without a place in the server's queue. */
  private volatile long heldUntil;

  /** Null if the store has answered. */
  private volatile @Nullable Outage outage;

  /** Makes one whose first head's turn begins. */
  Contender(Holdings holdings, LocalQueue queue, Request first) {
    this.holdings = holdings;
    this.engine = holdings.engine;
    this.queue = queue;
    this.wanted = first;
  }

  Holdings holdings() {
    return holdings;
  }

  String name() {
    return wanted.name();
  }

  // --- its heads --------------------------------------------------------------------------------

  /**
   * The turn of a head ends.
   *
   * @param leavesPlace whether the next head may continue the attempt in the store's queue
   */
  void leave(boolean leavesPlace) {
    try {
      if (!leavesPlace || !hasPlace()) {
        endAttempt();
      }
    } finally {
      waiting = false;
      held = false;
      synchronized (this) {
        turn = Turn.LEFT;
      }
    }
  }

  private synchronized boolean transition(Turn from, Turn to) {
    if (turn != from) {
      return false;
    }
    turn = to;
    return true;
  }

  /** The turn of the next head begins; false if the contender has ended. */
  boolean resume(Request next) {
    boolean resumed = transition(Turn.LEFT, Turn.SERVED);
    notOverdue();
    wanted = next;
    return resumed;
  }

  /** Gives the place up, if there is one, unless a head continues it in time. Never throws. */
  void awaitThread() {
    try {
      if (hasPlace()) {
        Overdue event = overdue;
        if (event == null) {
          event = new Overdue();
          overdue = event;
        }
        engine.timer.schedule(event, event.until);
      }
    } catch (Throwable e) {
      Timer.failed("scheduling the time-out of a place", e);
    }
  }

  private void notOverdue() {
    Overdue event = overdue;
    if (event != null) {
      overdue = null;
      engine.timer.cancel(event);
    }
  }

  /** Undoes the attempt, because no other head continues it. */
  void end() {
    try {
      notOverdue();
      // Otherwise its time-out was first, and undoes it.
      if (transition(Turn.LEFT, Turn.OVER)) {
        endAttempt();
      }
    } finally {
      forget();
    }
  }

  private void forget() {
    queue.end(this);
    engine.signalEnd();
  }

  /** Ends the waiting, because the client is being closed. Called from another thread. */
  void stop() {
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
    holdings.begin(next.claim(), next);
    try {
      engine.timer.start();
      attempt = next;
      // A closing thread has either seen this attempt, or is seen here.
      engine.ensureOpen();
      return next;
    } catch (Throwable e) {
      attempt = null;
      holdings.end(next.claim());
      throw e;
    }
  }

  /** Returns the attempt whose place in the store's queue can serve the request, or a new one. */
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

  /** Whether the place in the store's queue, if there is one, can serve the request. */
  boolean hasPlaceFor(Request request) {
    StoreAttempt current = attempt;
    return current != null && current.hasPlaceFor(request);
  }

  private boolean hasPlace() {
    StoreAttempt current = attempt;
    return current != null && current.place() != null;
  }

  // --- the store's answers: noted by the head ---------------------------------------------------

  /** The store can serve. */
  void noteAnswer() {
    outage = null;
  }

  /**
   * Another client is before this one.
   *
   * @param until when the next answer has to be there
   */
  void noteHeld(long until) {
    noteAnswer();
    heldUntil = until;
    held = true;
    queue.tell();
  }

  /** The store has let this client into its queue. */
  void noteJoined(boolean behindOthers) {
    Outage present = outage;
    if (present != null) {
      present.noTrouble();
    }
    waiting = behindOthers;
    if (behindOthers) {
      held = true;
      queue.tell();
    }
  }

  /** The head waits from now on. */
  void noteWaiting() {
    waiting = true;
  }

  /** The store cannot serve: those whose patience is over fail as well. */
  void noteFailure(Outage failing, long now) {
    outage = failing;
    held = false;
    queue.tell();
    queue.fail(this, other -> failing.patience(other, now) <= 0, failing.failure());
  }

  @Nullable Outage outage() {
    return outage;
  }

  // --- what others see --------------------------------------------------------------------------

  boolean isWaiting() {
    return waiting;
  }

  /** What the head waits for; null if it does not wait, or has not yet had an answer. */
  @Nullable Request waitingRequest() {
    return turn != Turn.OVER && (waiting || trouble() != null) ? wanted : null;
  }

  /** What is known of the lock, for those behind the head whose time is over. */
  LocalQueue.Answer answer() {
    LockUnavailableException trouble = trouble();
    if (trouble != null) {
      return LocalQueue.Answer.failed(trouble);
    }
    return held && !isOld() ? LocalQueue.Answer.HELD : LocalQueue.Answer.PENDING;
  }

  /** Whether the last answer is of before a pause of the process: the lock may be free since. */
  private boolean isOld() {
    return !hasPlace() && engine.platform.nanoTime() - heldUntil > 0;
  }

  /** Why the store cannot serve; null if it can. */
  @Nullable LockUnavailableException trouble() {
    Outage present = outage;
    return present == null ? null : present.trouble();
  }

  // --- permits that are passed on to a head that pauses -----------------------------------------

  /** The pauses of a head, during which another thread of this client may offer it a permit. */
  private static final class Pause {
    private final WakeUp wakeUp;

    /** What the head waits for; null if it does not pause. */
    @GuardedBy("this")
    private @Nullable Request request;

    @GuardedBy("this")
    private @Nullable LeaseState offered;

    private volatile boolean endedByClient;

    Pause(WakeUp wakeUp) {
      this.wakeUp = wakeUp;
    }

    @Nullable LeaseState await(Request wanted, Deadline until, boolean forMessages)
        throws InterruptedException {
      LeaseState taken = null;
      boolean ended = false;
      synchronized (this) {
        request = wanted;
      }
      try {
        while (wakeUp.await(until) && !forMessages && !endedByClient) {
          // Goes on pausing.
        }
        endedByClient = false;
        ended = true;
      } finally {
        synchronized (this) {
          request = null;
          taken = offered;
          offered = null;
        }
        if (taken != null && !ended) {
          Release.giveUp(taken, null);
        }
      }
      return taken;
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
   * @param forMessages whether a message of the store ends the pause, too
   * @return a lease that was offered meanwhile, or null
   */
  @Nullable LeaseState pause(Request request, Deadline until, boolean forMessages)
      throws InterruptedException {
    return pauses().await(request, until, forMessages);
  }

  /** For messages of the store. */
  WakeUp wakeUp() {
    return pauses().wakeUp;
  }

  private Pause pauses() {
    Pause made = pause;
    if (made == null) {
      made = new Pause(new WakeUp(engine.platform));
      pause = made;
      // If the client was closed before this, it found no wake-up to signal.
      engine.ensureOpen();
    }
    return made;
  }

  /**
   * Offers a permit to the head, if it pauses. It takes what is offered, or gives it up; the caller
   * {@linkplain #wake wakes} it.
   *
   * @param maker makes the head's lease from its request, or returns null if it does not fit
   * @return the head's lease, or null
   */
  @Nullable LeaseState offer(Function<Request, @Nullable LeaseState> maker) {
    Pause current = pause;
    return current == null ? null : current.offer(maker);
  }

  /** Ends a pause. */
  void wake() {
    Pause current = pause;
    if (current != null) {
      current.end();
    }
  }

  /** There is another head. Called under the monitor of its queue. */
  synchronized void noteNextHead(Request next) {
    wanted = next;
    overtakings = 0;
  }

  /**
   * Counts one overtaking of the head, but for those during its first request; false if it has been
   * overtaken often enough.
   */
  synchronized boolean tryOvertake() {
    return !waiting || ++overtakings <= MAX_OVERTAKINGS;
  }

  /** Whether the head could use the grant. */
  boolean wantsFrom(HeldGrant grant) {
    return turn != Turn.OVER && grant.fits(wanted);
  }
}
