package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LeaseLostException;
import dev.interlock.LockException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Renewal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What the client holds on the store: a grant, until when it is certain, when it is renewed, and
 * the leases that have it. A handoff to another thread exchanges the lease (FAIR-01), a reader adds
 * one, and a loss of the grant ends all of them. The grant ends with its last lease.
 *
 * <p>Its monitor guards its leases, too; no call out of the client is made under it. It schedules
 * itself on the {@link Timer}: for its next renewal, or for the end of a lease.
 */
final class HeldGrant extends Timer.Event implements Renewer.Renewable {

  private static final int RENEWALS_PER_TTL = 3;

  // Renewals are rounded to eighths of their interval, so that many come due together.
  private static final int RENEWAL_GRID = 8;

  // Longer than the rounding, or a renewal would follow the last without a pause.
  private static final int MAX_RENEWALS_PER_INTERVAL = 4;

  private static final LeaseState[] NONE = {};

  private record Loss(LeaseState lease, LeaseLostException why) {}

  private final Holdings holdings;
  private final Engine engine;
  private final Grant grant;
  private final long grantedAt;

  /** The end of the last confirmation. Only moves later. Changes under the monitor. */
  private volatile Validity validity;

  /** The leases that have it. Changes under the monitor. */
  private volatile LeaseState[] leases = NONE;

  /** How many leases it has had. */
  @GuardedBy("this")
  private int issued;

  @GuardedBy("this")
  private long renewAt;

  /** The renewal in flight; done when its outcome has been applied. */
  @GuardedBy("this")
  private @Nullable CompletableFuture<Boolean> round;

  /** Null until a renewal fails. */
  @GuardedBy("this")
  private @Nullable Backoff backoff;

  /** Why the last renewal was not confirmed; null if it was, or has not been answered. */
  @GuardedBy("this")
  private @Nullable LockException problem;

  private HeldGrant(Holdings holdings, Grant grant, Validity validity, long now) {
    this.holdings = holdings;
    this.engine = holdings.engine;
    this.grant = grant;
    this.grantedAt = now;
    this.validity = validity;
    planRenewal(confirmedAt() + interval());
  }

  /**
   * Makes a grant with its first lease; it {@linkplain #begin begins} later.
   *
   * @param clockOffset the {@linkplain Validity#clockOffset difference of the clocks} before the
   *     request was sent
   * @return the lease; null if the grant came so late that it has no validity left
   */
  static @Nullable LeaseState first(
      Holdings holdings, Request request, Grant granted, long clockOffset) {
    Platform platform = holdings.engine.platform;
    Validity validity = new Validity(granted.validUntil(), clockOffset);
    long wall = platform.wallMillis();
    long now = platform.nanoTime();
    if (validity.remaining(wall, now) <= 0) {
      return null;
    }
    HeldGrant held = new HeldGrant(holdings, granted, validity, now);
    return held.issue(request, wall, now);
  }

  /**
   * From here on it may be lost. If it takes all of its name, the caller is the head of the name's
   * local queue.
   */
  void begin() {
    try {
      holdings.add(this);
    } finally {
      publish();
    }
  }

  // --- its leases -------------------------------------------------------------------------------

  private synchronized LeaseState issue(Request request, long wall, long now) {
    LeaseState lease = new LeaseState(this, request, issued, wall, now);
    LeaseState[] more = Arrays.copyOf(leases, leases.length + 1);
    more[leases.length] = lease;
    leases = more;
    issued++;
    reschedule(wall, now);
    lease.noteAcquired();
    return lease;
  }

  @GuardedBy("this")
  private LeaseState make(Request request) {
    long wall = engine.platform.wallMillis();
    return new LeaseState(this, request, issued, wall, engine.platform.nanoTime());
  }

  /** Drops leases that have ended. Called under the monitor. Without memory they stay, harmless. */
  void dropEnded() {
    try {
      LeaseState[] open = NONE;
      for (LeaseState lease : leases) {
        if (!lease.phase().isEnd()) {
          open = Arrays.copyOf(open, open.length + 1);
          open[open.length - 1] = lease;
        }
      }
      leases = open;
    } catch (Throwable e) {
      Timer.failed("ending a lease", e);
    }
  }

  /** Whether a lease of this grant could serve the request. */
  boolean fits(Request request) {
    return request.share().equals(grant.claim().share())
        && request.options().autoRenew()
        && grant.claim().autoRenew()
        && request.options().ttl().equals(grant.claim().ttl());
  }

  /**
   * Whether another lease may follow one that is being released: not for ever, as other clients
   * wait for the grant as well, and not with too little validity left.
   */
  synchronized boolean mayHandOff(LeaseState lease) {
    return lease.mayBeHandedOff()
        && issued < Grant.LEASES_PER_GRANT
        && engine.platform.nanoTime() - grantedAt < grant.effectiveTtl().toNanos() / 3
        && validity.remaining(engine.platform) > 2 * interval();
  }

  /**
   * Ends a lease that is being released, and makes another one in its place.
   *
   * @return null if the lease was lost, the grant has to be released, or none can be made
   */
  synchronized @Nullable LeaseState handOff(LeaseState lease, Request next) {
    if (engine.isClosed() || !mayHandOff(lease)) {
      return null;
    }
    LeaseState taker;
    LeaseState[] exchanged = leases.clone();
    try {
      taker = make(next);
      exchanged[Arrays.asList(leases).indexOf(lease)] = taker;
    } catch (Throwable e) {
      Timer.failed("handing off a grant", e);
      return null;
    }
    leases = exchanged;
    issued++;
    lease.markReleased(ReleaseOutcome.HANDED_OFF);
    reschedule();
    taker.noteAcquired();
    return taker;
  }

  /** Makes a lease beside one that is held; null if that has ended, or none can be made. */
  synchronized @Nullable LeaseState admit(LeaseState beside, Request next) {
    if (beside.phase() != LeasePhase.HELD || issued == Grant.LEASES_PER_GRANT) {
      return null;
    }
    try {
      long wall = engine.platform.wallMillis();
      return issue(next, wall, engine.platform.nanoTime());
    } catch (Throwable e) {
      Timer.failed("admitting a reader", e);
      return null;
    }
  }

  // --- what it is -------------------------------------------------------------------------------

  @Override
  public Grant grant() {
    return grant;
  }

  String name() {
    return grant.claim().name();
  }

  /** Whether nobody else can hold the name at the same time. */
  boolean isWhole() {
    return grant.claim().share().isWhole();
  }

  Holdings holdings() {
    return holdings;
  }

  Engine engine() {
    return engine;
  }

  /** When its first lease began. */
  long grantedAt() {
    return grantedAt;
  }

  /** Whether the lease is the only one left. */
  boolean isLast(LeaseState lease) {
    for (LeaseState other : leases) {
      if (other != lease && !other.phase().isEnd()) {
        return false;
      }
    }
    return true;
  }

  /** Whether its last lease has ended. */
  private boolean hasEnded() {
    return !isAny(lease -> !lease.phase().isEnd());
  }

  private boolean isAny(Predicate<LeaseState> such) {
    for (LeaseState lease : leases) {
      if (such.test(lease)) {
        return true;
      }
    }
    return false;
  }

  List<LeaseState> leases() {
    return List.of(leases);
  }

  Validity validity() {
    return validity;
  }

  /** The renewal in flight, or null. */
  synchronized @Nullable CompletableFuture<Boolean> round() {
    return round;
  }

  synchronized @Nullable LockException problem() {
    return problem;
  }

  /** The time between two renewals. */
  long interval() {
    return grant.validityPerConfirmation().toNanos() / RENEWALS_PER_TTL;
  }

  /** When the last request was sent that the store confirmed. */
  long confirmedAt() {
    return validity.until() - grant.validityPerConfirmation().toNanos();
  }

  /** Whether almost all of the validity of a confirmation is left. */
  boolean isFresh() {
    return engine.platform.nanoTime() - confirmedAt()
        < grant.validityPerConfirmation().toNanos() / 10;
  }

  // --- the timer --------------------------------------------------------------------------------

  @Override
  void fire(long now) {
    endOverdue();
    LeaseState due = null;
    synchronized (this) {
      long wall = engine.platform.wallMillis();
      long at = now + validity.slept(wall, now); // by whichever clock has gone further
      if (isRenewalDue(at)) {
        for (LeaseState lease : leases) {
          lease.abandonIfDropped();
        }
        if (round == null && isRenewed()) {
          engine.renewer.due(this);
        }
      }
      if (isRenewed() && riskAt() - at <= 0) {
        LockException why =
            problem == null
                ? engine.unavailable("the store has not answered a renewal", null)
                : problem;
        for (LeaseState lease : leases) {
          lease.putAtRisk(why);
        }
      }
      for (LeaseState lease : leases) {
        due = lease.isReleaseDue(now) ? lease : due;
      }
      reschedule(wall, now);
    }
    publish();
    if (due != null) {
      new Release(due).ofKept();
    }
  }

  /** Plans anew after a change of a lease. Called under the monitor; {@link #publish} follows. */
  void reschedule() {
    long wall = engine.platform.wallMillis();
    reschedule(wall, engine.platform.nanoTime());
  }

  private synchronized void reschedule(long wall, long now) {
    if (hasEnded()) {
      notDue();
      return;
    }
    long slept = validity.slept(wall, now);
    // A renewal that is due and has no outcome may have found no thread: ask again.
    long renewal = isRenewalDue(now + slept) ? now + interval() / RENEWAL_GRID : renewAt - slept;
    long next = now + Long.MAX_VALUE / 2;
    for (LeaseState lease : leases) {
      next = Validity.earlier(next, lease.dueAt(wall, now, renewal, riskAt() - slept));
    }
    due(next);
  }

  /** Whether it is renewed in the background. */
  private boolean isRenewed() {
    return isAny(LeaseState::needsRenewal);
  }

  @GuardedBy("this")
  private boolean isRenewalDue(long at) {
    return renewAt - at <= 0 && isRenewed();
  }

  /**
   * When a lease is at risk without another confirmation: in the last third of the validity. A
   * renewal that fails puts it at risk at once.
   */
  private long riskAt() {
    return validity.until() - interval();
  }

  @GuardedBy("this")
  private void planRenewal(long at) {
    renewAt = at - Math.floorMod(at, Math.max(1, interval() / RENEWAL_GRID));
  }

  /** Passes a change on to the timer and the listeners. Call it under no monitor. */
  void publish() {
    engine.timer.update(this);
    engine.notifier.flush();
  }

  /** Whether it may have to be renewed or to end, because the machine slept. */
  boolean mayBeOverdue(long wallMillis, long now) {
    return validity.slept(wallMillis, now) > LeaseTerm.MIN_SLEEP.toNanos()
        || isAny(lease -> lease.remaining(wallMillis, now) <= 0);
  }

  // --- renewal ----------------------------------------------------------------------------------

  @Override
  public Duration patience() {
    Duration share = Duration.ofNanos(interval());
    Duration most = engine.requestTimeout();
    return share.compareTo(most) < 0 ? share : most;
  }

  /** Whether a lease is held, or kept for its minimum hold. */
  private boolean isRenewable() {
    return isAny(LeaseState::isLive);
  }

  @Override
  public synchronized boolean startRenewal(CompletableFuture<Boolean> mine) {
    long wall = engine.platform.wallMillis();
    long now = engine.platform.nanoTime();
    return isRenewalDue(now + validity.slept(wall, now)) && joinRenewal(mine) == mine;
  }

  @Override
  public boolean awaitRenewal(CompletableFuture<Boolean> mine, Deadline deadline)
      throws InterruptedException {
    CompletableFuture<Boolean> other;
    while ((other = joinRenewal(mine)) != mine) {
      if (other == null) {
        return false;
      }
      if (!Awaiting.done(engine.platform, other, deadline)) {
        throw engine.unavailable("the store has not answered an earlier renewal", null);
      }
      endOverdue();
    }
    return true;
  }

  /** Returns the renewal in flight: the caller's, if there was none; null if it has ended. */
  private synchronized @Nullable CompletableFuture<Boolean> joinRenewal(
      CompletableFuture<Boolean> mine) {
    if (!isRenewable()) {
      return null;
    }
    if (round == null) {
      round = mine;
    }
    return round;
  }

  @Override
  public void finishRenewal(
      CompletableFuture<Boolean> mine, Renewal outcome, Renewer.Sent request) {
    synchronized (this) {
      if (round == mine) {
        // Together with the new due time: a renewal that comes due finds none in flight.
        round = null;
      }
      long wall = engine.platform.wallMillis();
      long now = engine.platform.nanoTime();
      // A confirmation after the end does not bring a lease back. Only this moves the end, under
      // the monitor, so that a lease once seen ended stays so.
      if (isAny(lease -> lease.isOpen() && lease.remaining(wall, now) > 0)) {
        if (outcome instanceof Renewal.Renewed confirmed) {
          extend(confirmed.validUntil(), request, wall, now);
        } else if (outcome instanceof Renewal.Failed failed) {
          postpone(failed.problem(), wall, now);
        }
        reschedule(wall, now);
      } else if (!(outcome instanceof Renewal.Gone)) {
        problem =
            engine.unavailable(
                "the store answered a renewal only after the validity had ended", null);
      }
    }
    if (outcome instanceof Renewal.Gone gone) {
      lose(gone.reason(), gone.detail());
    } else {
      endOverdue();
    }
    publish();
  }

  @GuardedBy("this")
  private void extend(long promised, Renewer.Sent request, long wall, long now) {
    long perConfirmation = grant.validityPerConfirmation().toNanos();
    // Never more than the grant allowed, whatever the backend reports now.
    long until = Validity.earlier(promised, request.at() + perConfirmation);
    Validity confirmed = new Validity(until, request.clockOffset());
    // The validity that the program has seen must not shrink because the offset was read with a
    // pause between the clocks, which looks like sleep.
    if (confirmed.remaining(wall, now) - validity.remaining(wall, now) > 0) {
      validity = confirmed;
    }
    problem = null;
    backoff = null;
    // No sleep before the request counts. The sooner, the less of the validity was confirmed.
    long missing = request.at() + perConfirmation - until;
    planRenewal(
        request.at()
            + validity.slept(wall, now)
            - confirmed.slept(wall, now)
            + Math.max(interval() - missing, interval() / MAX_RENEWALS_PER_INTERVAL));
    for (LeaseState lease : leases) {
      lease.noteRenewed(request, wall, now);
    }
  }

  @GuardedBy("this")
  private void postpone(LockException failure, long wall, long now) {
    problem = failure;
    if (backoff == null) {
      backoff = new Backoff(engine.platform, grant.validityPerConfirmation());
    }
    renewAt = now + validity.slept(wall, now) + backoff.nextNanos();
    for (LeaseState lease : leases) {
      lease.noteRenewalFailed(failure);
      lease.putAtRisk(failure);
    }
  }

  // --- its loss ---------------------------------------------------------------------------------

  /** Ends its leases, because the server reports that the grant is gone. */
  void lose(LossReason reason, String detail) {
    end(lease -> lease.lossUnlessDeferred(reason, detail));
  }

  /** Ends the leases whose validity is over, though nobody may have noticed it yet. */
  void endOverdue() {
    for (LeaseState lease : leases) {
      if (lease.hasLapsed()) {
        end(LeaseState::lossAtEnd);
        return;
      }
    }
  }

  /** Keeps the grant for as long as the store may, which is asked to end it. Under the monitor. */
  void extendTo(long end) {
    if (end - validity.until() > 0) {
      validity = new Validity(end, validity.clockOffset());
    }
  }

  /**
   * Ends leases as lost, unless their release is in flight. Under the monitor each loss is recorded
   * and queued for its future and its listeners. Then, on this thread: these are started, each on a
   * thread of its own; the client's own reactions run; what may be left on the store is undone; and
   * the next head's turn begins.
   *
   * @param verdict asked for each lease under the monitor: why it is lost; null if it is not
   * @return whether the grant has ended with them
   */
  boolean end(Function<LeaseState, @Nullable LeaseLostException> verdict) {
    List<Loss> losses = new ArrayList<>(leases.length);
    boolean endsTurn = false;
    boolean ends;
    synchronized (this) {
      for (LeaseState lease : leases) {
        LeaseLostException why = lease.isOpen() ? verdict.apply(lease) : null;
        if (why != null) {
          losses.add(new Loss(lease, why));
          // A release in progress ends the turn.
          endsTurn |= isWhole() && lease.isLive();
          lease.markLost(why);
        }
      }
      dropEnded();
      ends = !losses.isEmpty() && hasEnded();
    }
    if (losses.isEmpty()) {
      return false;
    }
    try {
      engine.notifier.flush();
      for (Loss loss : losses) {
        loss.lease().runOnLoss(loss.why());
      }
    } finally {
      if (ends) {
        tidyServer(losses.get(0).why().reason());
      }
      if (endsTurn) {
        holdings.endTurn(name());
      }
    }
    return ends;
  }

  /** Undoes what may be left on the store, unless the closing thread does that. Never throws. */
  private void tidyServer(LossReason reason) {
    try {
      if (isGone(reason)) {
        engine.cleanup.forget(grant.claim());
      } else if (reason != LossReason.CLOSED) {
        engine.cleanup.undo(grant);
      }
    } catch (Throwable e) {
      Timer.failed("undoing a grant", e);
    } finally {
      // Not before, because a client that is being closed waits for it.
      holdings.remove(this);
    }
  }

  private boolean isGone(LossReason reason) {
    return switch (reason) {
      case TAKEN, SESSION_ENDED -> true;
      // A lease may have ended before its grant, and a renewal without a reply may have prolonged
      // that.
      case EXPIRED, ABANDONED ->
          grant.expiresOnStore()
              && validity.remaining(engine.platform) <= 0
              && round() == null
              && problem() == null;
      default -> false;
    };
  }
}
