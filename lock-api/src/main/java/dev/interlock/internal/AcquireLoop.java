package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The attempts of one client to acquire one lock from the server, made by the head of the local
 * queue.
 *
 * <p>Every attempt has its own claim. If its reply was lost, it was interrupted, or its grant came
 * too late, it is undone in the background. That request carries the claim, so it can never touch a
 * later attempt.
 *
 * <p>A place in the server's queue belongs to the client, not to the waiter that entered it: a head
 * that gives up leaves the acquire loop to the next head, which continues there if it wants the
 * same kind of lease. To the store it is still the first head's claim, with its label.
 *
 * <p>The store may grant the lock to a place that no thread serves, and only the client can end
 * that. So the client gives the place up if the next head gets no thread within a request time-out.
 */
final class AcquireLoop {

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

  private record EarlyLoss(LossReason reason, String detail) {}

  /** The store fails. The outage goes on from one head to the next. */
  private static final class Outage {
    private LockUnavailableException failure;

    /** Later than its true beginning by all the time in which nobody asked the store. */
    private long since;

    /** When the store is to be asked again. */
    private long askAt;

    private @Nullable Backoff backoff;

    /** The last failure, but null once the store has let this client into its queue. */
    private volatile @Nullable LockUnavailableException trouble;

    Outage(LockUnavailableException failure, long since, long now) {
      this.failure = failure;
      this.since = since;
      this.askAt = now;
    }

    /** Adds a failure. */
    void add(LockUnavailableException next, long now) {
      failure = next;
      trouble = next;
      askAt = now;
    }

    /** Leaves out the time by which the request that is sent now is late. */
    void ask(long now) {
      leaveOut(now - askAt);
      askAt = now;
    }

    /** Leaves out time in which nobody could ask, as the process was stopped. */
    void leaveOut(long nanos) {
      since += Math.max(0, nanos);
    }

    /** Returns for how many nanoseconds more a caller bears it. */
    long patience(Request request, long now) {
      long begun = since - request.since() > 0 ? since : request.since();
      return request.withoutStore().toNanos() - (now - begun);
    }
  }

  /** Gives the place up, unless a head continues it in time. */
  private final class Overdue extends Timer.Event {
    private final long until = engine.platform.nanoTime() + engine.requestTimeout().toNanos();

    @Override
    void fire(long now) {
      if (changed(Turn.LEFT, Turn.OVER)) {
        try {
          endAttempt();
        } finally {
          forget();
        }
      }
    }
  }

  private final DefaultLockClient engine;

  /** Changes under the monitor. */
  private volatile Turn turn = Turn.SERVED;

  /** What the head wants, even if no thread serves it yet. */
  private volatile Request wanted;

  /** Made when the next head may get no thread. */
  private volatile @Nullable Overdue overdue;

  /** For the pauses between attempts; made before the first. */
  private volatile @Nullable Pause pause;

  /** The number of times that a waiter behind the present head was served before it. */
  private final AtomicInteger overtakings = new AtomicInteger();

  // --- the current attempt, or else the last ---

  private volatile @Nullable Claim claim;

  /** A loss that the server reported before the lease had begun. */
  @GuardedBy("this")
  private @Nullable EarlyLoss earlyLoss;

  /** Whether nothing of the attempt is left to undo. */
  private boolean settled = true;

  /** What the server granted, once that is known. */
  private @Nullable Grant grant;

  private volatile QueueingBackend.@Nullable Place place;

  /** Whether the server has answered that it has to wait. */
  private volatile boolean waiting;

  /** Whether the last answer of the server to this head was that another client is before it. */
  private volatile boolean held;

  /** When the next answer has to be there, to a head without a place in the server's queue. */
  private volatile long heldUntil;

  /** Taken before the first request. */
  private long clockOffset;

  /** The time before the last request that the head itself waits for, and when to give it up. */
  private long sentAt;

  private long answerDue;

  /** Null if the store has answered. */
  private volatile @Nullable Outage outage;

  AcquireLoop(DefaultLockClient engine, Request first) {
    this.engine = engine;
    this.wanted = first;
  }

  /**
   * Tries until the deadline, at least once. While the store fails, retries with growing pauses, as
   * long as the patience lasts.
   *
   * @return null if the deadline passed and the last answer was busy
   * @throws LockUnavailableException if the deadline passed and the last answer was a failure, or
   *     the patience has run out
   */
  @Nullable LeaseState run(Request request) throws InterruptedException {
    wanted = request;
    waiting = false;
    held = false;
    boolean leaves = false;
    try {
      LeaseState lease =
          engine.store instanceof QueueingBackend queueing
                  && (isOfUse(place, request) || !request.isOver())
              ? queue(queueing, request)
              : poll(request);
      leaves = lease == null;
      return lease;
    } catch (InterruptedException e) {
      leaves = grant == null;
      throw e;
    } finally {
      try {
        if (!leaves || place == null) {
          endAttempt();
        }
      } finally {
        waiting = false;
        held = false;
        turn(Turn.LEFT);
      }
    }
  }

  private synchronized void turn(Turn next) {
    turn = next;
  }

  private synchronized boolean changed(Turn from, Turn to) {
    if (turn != from) {
      return false;
    }
    turn = to;
    return true;
  }

  /** Lets the next head {@link #run} the loop; false if the loop has ended. */
  boolean resume() {
    boolean resumed = changed(Turn.LEFT, Turn.SERVED);
    notOverdue();
    return resumed;
  }

  /** Gives the place up, if there is one, unless a head continues it in time. Never throws. */
  void awaitThread() {
    try {
      if (place != null) {
        Overdue event = overdue;
        if (event == null) {
          event = new Overdue();
          overdue = event;
        }
        engine.timer.schedule(event, event.until);
      }
    } catch (Throwable e) {
      Timer.failed("the time-out of a place", e);
    }
  }

  private void notOverdue() {
    Overdue event = overdue;
    if (event != null) {
      overdue = null;
      engine.timer.cancel(event);
    }
  }

  String name() {
    return wanted.name();
  }

  /** Whether the server has answered that it has to wait. */
  boolean isWaiting() {
    return waiting;
  }

  /** What the head waits for; null if it does not wait, or has not yet had an answer. */
  @Nullable Request waitingRequest() {
    return turn != Turn.OVER && (waiting || trouble() != null) ? wanted : null;
  }

  /** Undoes the attempt, because no other head continues it. */
  void end() {
    try {
      notOverdue();
      // Otherwise its time-out was first, and undoes it.
      if (changed(Turn.LEFT, Turn.OVER)) {
        endAttempt();
      }
    } finally {
      forget();
    }
  }

  private void forget() {
    engine.line.end(this);
    engine.signalEnd();
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
    return place == null && engine.platform.nanoTime() - heldUntil > 0;
  }

  /** Why the store cannot serve. */
  @Nullable LockUnavailableException trouble() {
    Outage present = outage;
    return present == null ? null : present.trouble;
  }

  /** Records that the server has taken back what it granted to an attempt. */
  synchronized void lost(Claim lost, LossReason reason, String detail) {
    Claim present = claim;
    if (present != null && present.isSame(lost)) {
      earlyLoss = new EarlyLoss(reason, detail);
    }
  }

  /** Ends the waiting, because the client is being closed. Called from another thread. */
  void stop() {
    wake();
    close(place);
  }

  // --- stores without a queue -----------------------------------------------------------------

  private @Nullable LeaseState poll(Request request) throws InterruptedException {
    LockBackend.Watch watch = null;
    try {
      while (true) {
        Duration most;
        boolean busy = false;
        try {
          Claim next = nextAttempt(request);
          Attempt attempt = engine.store.tryAcquire(next, requestDeadline(request));
          if (attempt instanceof Attempt.Granted granted) {
            return inTime(
                begin(cappedAt(granted.grant(), next.issuedAt()), request), granted.grant());
          }
          settleWithNothingLeft();
          Attempt.Busy answer = (Attempt.Busy) attempt;
          request.heldBy(answer.holder());
          most = pollInterval(answer.retryAfter(), request.options().pollInterval());
          heldUntil = engine.platform.nanoTime() + most.plus(engine.requestTimeout()).toNanos();
          isHeld();
          busy = true;
        } catch (LockUnavailableException e) {
          most = failed(e, request);
        } catch (LockConfigurationException e) {
          if (!(engine.store instanceof QueueingBackend)) {
            // What a refused attempt may have left on the store expires there.
            settleWithNothingLeft();
          }
          answered();
          throw e;
        }
        if (request.isOver()) {
          return giveUp();
        }
        waiting = true;
        if (busy) {
          engine.waits(request);
        }
        if (watch == null) {
          // Only now: an uncontended lock costs no watch. The watch signals once when it is in
          // place, so that the loop notices an earlier release.
          watch = watch();
        }
        // No sign that a failed store has recovered: undone attempts send messages, too.
        LeaseState offered = pause().await(request, most, busy);
        if (offered != null) {
          // The thread that offered it may be slow to publish it.
          Timer.survive("the beginning of a lease", offered::publish);
          // It may have ended before this thread continued.
          Timer.survive("the end of a lease", offered::isHeld);
          return offered;
        }
        engine.ensureOpen();
      }
    } finally {
      close(watch);
    }
  }

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

    /**
     * Returns what was offered meanwhile, or null.
     *
     * @param forMessages whether a message of the store ends it, too
     */
    @Nullable LeaseState await(Request wanted, Duration most, boolean forMessages)
        throws InterruptedException {
      LeaseState taken = null;
      boolean ended = false;
      synchronized (this) {
        request = wanted;
      }
      try {
        Deadline until = wanted.deadline().orIn(most);
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
          taken.giveUp(null);
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

  /** There is another head. Called under the monitor of its queue. */
  void passTo(Request next) {
    wanted = next;
    overtakings.set(0);
  }

  /**
   * Counts one overtaking of the head, but for those during its first request; false if it has been
   * overtaken often enough.
   */
  boolean tryOvertake() {
    return !waiting || overtakings.incrementAndGet() <= MAX_OVERTAKINGS;
  }

  /** Whether the head could use a grant of the request. */
  boolean asksLike(Request request) {
    return turn != Turn.OVER && wanted.sharesGrantWith(request);
  }

  /** Ends a pause. */
  void wake() {
    Pause current = pause;
    if (current != null) {
      current.end();
    }
  }

  /** Null if there can be none at the moment: the waiter then polls. */
  private LockBackend.@Nullable Watch watch() {
    try {
      return engine.store.watch(name(), pause().wakeUp);
    } catch (LockUnavailableException e) {
      DefaultLockClient.log.debug("\"{}\" cannot be watched", name(), e);
      return null;
    }
  }

  // At random a little later than the store's own time, so that waiters do not poll in step.
  private Duration pollInterval(Duration hint, Duration most) {
    long nanos = Math.max(0, (hint.compareTo(most) < 0 ? hint : most).toNanos());
    long spread = Math.min(nanos / 8, Duration.ofMillis(50).toNanos());
    return Duration.ofNanos(
        nanos + Duration.ofMillis(1).toNanos() + engine.platform.random(spread + 1));
  }

  // Corrects a backend that counts from the reply: a grant is certain for the time that the store
  // gives, counted from before the request was sent.
  private static Grant cappedAt(Grant grant, long sentAt) {
    long most = sentAt + grant.validityPerConfirmation().toNanos();
    return grant.validUntil() - most <= 0 ? grant : grant.validUntil(most);
  }

  // --- stores with a queue --------------------------------------------------------------------

  private @Nullable LeaseState queue(QueueingBackend store, Request request)
      throws InterruptedException {
    while (true) {
      try {
        QueueingBackend.Place current = place;
        if (current == null || !isOfUse(current, request)) {
          current = store.join(nextAttempt(request), requestDeadline(request));
          place = current;
        }
        engine.ensureOpen();
        inQueue();
        waiting = current.hasPredecessor();
        if (waiting) {
          held = true;
          engine.line.tell(this);
          engine.waits(request);
        }
        Attempt attempt = current.await(request.deadline());
        engine.ensureOpen();
        if (attempt instanceof Attempt.Granted granted) {
          // A wall clock that was set back during the wait must not hide as much sleep.
          clockOffset = Math.min(clockOffset, engine.clockOffset());
          LeaseState lease = begin(granted.grant(), request);
          return lease == null ? beginConfirmed(store, granted.grant(), request) : lease;
        }
        request.heldBy(((Attempt.Busy) attempt).holder());
        isHeld();
      } catch (LockConfigurationException e) {
        answered();
        throw e;
      } catch (LockUnavailableException e) {
        if (place != null && grant == null) {
          // The store has let us into the queue since its last failure. A grant that came too late
          // is no sign that it has recovered.
          answered();
        }
        Duration most = failed(e, request);
        pause().wakeUp.await(request.deadline().orIn(most));
      }
      engine.ensureOpen();
      if (request.isOver()) {
        return giveUp();
      }
    }
  }

  /**
   * If the machine slept while it waited, that may have been before the grant, which is then late
   * only by our clocks. Only the store knows whether the grant still exists.
   */
  private LeaseState beginConfirmed(QueueingBackend store, Grant granted, Request request)
      throws InterruptedException {
    LeaseState lease = null;
    long now = engine.platform.nanoTime();
    if (granted.validUntil() - now > 0) {
      long offset = engine.clockOffset();
      Renewal renewal = store.renew(granted, requestDeadline(request));
      if (Renewer.counted(renewal, granted, now) instanceof Renewal.Renewed renewed) {
        clockOffset = offset;
        lease = begin(cappedAt(granted.validUntil(renewed.validUntil()), now), request);
      }
    }
    return inTime(lease, granted);
  }

  private boolean isOfUse(QueueingBackend.@Nullable Place held, Request request) {
    Claim present = claim;
    return held != null
        && present != null
        && present.share().equals(request.share())
        && present.ttl().equals(request.options().ttl())
        && present.autoRenew() == request.options().autoRenew();
  }

  // --- both -----------------------------------------------------------------------------------

  private Deadline requestDeadline(Request request) {
    Outage present = outage;
    sentAt = engine.platform.nanoTime();
    long patience = request.withoutStore().toNanos();
    if (present != null) {
      present.ask(sentAt);
      patience = present.patience(request, sentAt);
    }
    Deadline deadline = request.forStore(engine.requestTimeout(), patience);
    answerDue = deadline.nanos();
    return deadline;
  }

  private Pause pause() {
    Pause made = pause;
    if (made == null) {
      made = new Pause(new WakeUp(engine.platform));
      pause = made;
      // If the client was closed before this, it found no wake-up to signal.
      engine.ensureOpen();
    }
    return made;
  }

  /** Makes the next attempt's identity. */
  private Claim nextAttempt(Request request) {
    endAttempt();
    LockOptions options = request.options();
    // The wall clock first: a pause between the two readings must not hide as much sleep.
    long wall = engine.platform.wallMillis();
    long begunAt = engine.platform.nanoTime();
    clockOffset = DefaultLockClient.clockOffset(wall, begunAt);
    ClaimIds.Series ids = engine.claimIds.series(wall, begunAt);
    Claim next =
        Claim.inSeries(
            request.name(),
            ids.name,
            ids.next(),
            options.ttl(),
            options.autoRenew(),
            request.holder(),
            begunAt,
            request.share(),
            reservation(request));
    synchronized (this) {
      claim = next;
      earlyLoss = null;
    }
    grant = null;
    if (!next.share().isWhole()) {
      engine.shared.begin(next, this);
    }
    try {
      engine.timer.start();
      // A closing thread has either seen this acquire loop, or is seen here.
      engine.ensureOpen();
    } catch (Throwable e) {
      endShared(next);
      throw e;
    }
    // From here on a request may be in flight.
    settled = false;
    return next;
  }

  /**
   * Lasts until after the next attempt, unless the caller gives up before. The last attempt of a
   * waiter still has one: the lock may be reserved for this client.
   */
  private Duration reservation(Request request) {
    if (engine.store instanceof QueueingBackend) {
      return Duration.ZERO;
    }
    Duration remaining =
        request
            .deadline()
            .orIn(request.options().pollInterval().plus(engine.requestTimeout()))
            .remaining();
    return waiting && remaining.isZero() ? Duration.ofNanos(1) : remaining;
  }

  /** Ends the current attempt, and undoes what may be left of it on the store. */
  private void endAttempt() {
    Claim present = claim;
    Grant granted = grant;
    if (settled || present == null) {
      return;
    }
    settle();
    try {
      if (granted == null) {
        engine.cleanup.undo(present);
      } else {
        engine.cleanup.undo(granted);
      }
    } finally {
      // Not before, because a client that is being closed waits for it.
      endShared(present);
    }
  }

  private void settle() {
    settled = true;
    close(place);
    place = null;
  }

  /** From here on, a loss is no longer reported to this loop. */
  private void endShared(Claim ended) {
    if (!ended.share().isWhole()) {
      engine.shared.end(ended);
    }
  }

  private void settleWithNothingLeft() {
    settle();
    Claim present = claim;
    if (present != null) {
      endShared(present);
      engine.cleanup.forget(present);
    }
  }

  private LeaseState inTime(@Nullable LeaseState lease, Grant granted) {
    if (lease == null) {
      throw engine.unavailable(
          "the lock was granted, but the answer came after its TTL of "
              + granted.effectiveTtl()
              + " had passed; use a longer TTL, or find what was so slow",
          null);
    }
    return lease;
  }

  /** Makes the lease, which owns the claim from then on; null if the grant is late. */
  private @Nullable LeaseState begin(Grant granted, Request request) {
    grant = granted;
    LeaseState lease = LeaseState.of(request, granted, clockOffset);
    if (lease == null) {
      return null;
    }
    answered();
    // Before the lease can be lost, which passes the name on to a head that would continue here.
    settle();
    // From here on only the caller can release the lease, so it has to be returned.
    try {
      lease.begin();
    } catch (Throwable e) {
      Timer.failed("the beginning of a lease", e);
    }
    try {
      engine.signalEnd();
      endShared(granted.claim());
      EarlyLoss early;
      synchronized (this) {
        early = earlyLoss;
      }
      if (early != null) {
        lease.lose(early.reason(), early.detail());
      }
    } catch (Throwable e) {
      Timer.failed("an early loss", e);
    }
    try {
      engine.line.tell(this);
    } catch (Throwable e) {
      Timer.failed("an answer", e);
    }
    return lease;
  }

  // A failure here must not make the client forget a lock that was just granted.
  private void close(@Nullable AutoCloseable waiting) {
    try {
      if (waiting != null) {
        waiting.close();
      }
    } catch (Throwable e) {
      Timer.failed("the backend's end of a wait", e);
    }
  }

  private void answered() {
    outage = null;
  }

  private void isHeld() {
    answered();
    held = true;
    engine.line.tell(this);
  }

  private void inQueue() {
    Outage present = outage;
    if (present != null) {
      present.trouble = null;
    }
  }

  /** Returns how long to pause before the next attempt. */
  private Duration failed(LockUnavailableException problem, Request request) {
    boolean isQueued = place != null;
    if (problem.isInDoubt() || isQueued || grant != null) {
      endAttempt();
    } else {
      settleWithNothingLeft();
    }
    engine.ensureOpen();
    held = false;
    long now = engine.platform.nanoTime();
    Outage present = outage;
    if (present == null) {
      present = new Outage(problem, sentAt, now);
      outage = present;
    }
    // Whoever waits in the store's queue has not asked for anything all that time.
    present.leaveOut(now - (isQueued ? sentAt : answerDue));
    present.add(problem, now);
    engine.line.tell(this);
    Outage failing = present;
    engine.line.fail(this, other -> failing.patience(other, now) <= 0, problem);
    long patience = present.patience(request, now);
    if (request.isOver() || patience <= 0) {
      throw problem;
    }
    engine.attemptFailed(request, problem);
    if (present.backoff == null) {
      present.backoff = new Backoff(engine.platform, request.options().ttl());
    }
    long pause = Math.min(present.backoff.next(request.options().ttl()).toNanos(), patience);
    present.askAt = now + pause;
    return Duration.ofNanos(pause);
  }

  private @Nullable LeaseState giveUp() {
    Outage present = outage;
    if (present != null) {
      throw present.failure;
    }
    return null;
  }
}
