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
 * A grant while the client holds it: its validity, its renewals, and its leases. A handoff to
 * another thread replaces the lease (FAIR-01), a reader adds one, and a loss of the grant ends all
 * of them. The grant ends with its last lease.
 *
 * <p>Its monitor also guards the leases; no call leaves the client under it. It schedules itself on
 * the {@link Timer} for its next renewal, or for the end of a lease.
 */
final class HeldGrant extends Timer.Event implements Renewer.Renewable {

  private static final int RENEWALS_PER_TTL = 3;

  // Renewals are rounded to eighths of their interval, so that many come due together.
  private static final int RENEWAL_GRID = 8;

  // Fewer than RENEWAL_GRID, or one renewal would follow another without a pause.
  private static final int MAX_RENEWALS_PER_INTERVAL = 4;

  private static final LeaseState[] NO_LEASES = {};

  private record Loss(LeaseState lease, LeaseLostException why) {}

  private final Holdings holdings;
  private final Engine engine;
  private final Grant grant;
  private final long grantedAt;

  /** The validity, whose end only moves later. Changes under the monitor. */
  private volatile Validity validity;

  /** Changes under the monitor. */
  private volatile LeaseState[] leases = NO_LEASES;

  /** The number of leases that this grant has had. */
  @GuardedBy("this")
  private int issued;

  @GuardedBy("this")
  private long renewAt;

  /** Done when its outcome has been applied. */
  @GuardedBy("this")
  private @Nullable CompletableFuture<Boolean> renewalInFlight;

  /** Null unless the last renewal failed. */
  @GuardedBy("this")
  private @Nullable Backoff backoff;

  /** The failure of the last renewal; null if the store confirmed it, or has not answered yet. */
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
   * Creates a grant with its first lease; the grant {@linkplain #begin begins} later.
   *
   * @param clockOffset the {@linkplain Validity#clockOffset difference of the clocks} before the
   *     request was sent
   * @return the lease; null if the grant came so late that it has no validity left
   */
  static @Nullable LeaseState withFirstLease(
      Holdings holdings, Request request, Grant granted, long clockOffset) {
    Platform platform = holdings.engine.platform;
    Validity validity = new Validity(granted.validUntil(), clockOffset);
    long wall = platform.wallMillis();
    long now = platform.nanoTime();
    if (validity.remaining(wall, now) <= 0) {
      return null;
    }
    HeldGrant grant = new HeldGrant(holdings, granted, validity, now);
    return grant.issue(request, wall, now);
  }

  /**
   * Begins the grant: from here on it may be lost. If it takes all of its name, the caller is the
   * head of the local queue.
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
    LeaseState[] grown = Arrays.copyOf(leases, leases.length + 1);
    grown[leases.length] = lease;
    leases = grown;
    issued++;
    reschedule(wall, now);
    lease.reportAcquired();
    return lease;
  }

  @GuardedBy("this")
  private LeaseState newLease(Request request) {
    long wall = engine.platform.wallMillis();
    return new LeaseState(this, request, issued, wall, engine.platform.nanoTime());
  }

  /** Drops ended leases; without memory they stay, harmlessly. Under the monitor. */
  void dropEnded() {
    try {
      LeaseState[] open = NO_LEASES;
      for (LeaseState lease : leases) {
        if (!lease.phase().isEnd()) {
          open = Arrays.copyOf(open, open.length + 1);
          open[open.length - 1] = lease;
        }
      }
      leases = open;
    } catch (Throwable e) {
      Timer.logFailure("ending a lease", e);
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
   * Whether another lease may follow one that is being released: not forever, because other clients
   * wait for the grant as well, and not with little validity left.
   */
  synchronized boolean mayHandOff(LeaseState lease) {
    return lease.mayBeHandedOff()
        && issued < Grant.LEASES_PER_GRANT
        && engine.platform.nanoTime() - grantedAt < grant.effectiveTtl().toNanos() / 3
        && validity.remaining(engine.platform) > 2 * interval();
  }

  /**
   * Ends a lease that is being released, and makes another in its place.
   *
   * @return null if the lease was lost, the grant must be released, or no lease can be made
   */
  synchronized @Nullable LeaseState handOff(LeaseState lease, Request next) {
    if (engine.isClosed() || !mayHandOff(lease)) {
      return null;
    }
    LeaseState successor;
    LeaseState[] exchanged = leases.clone();
    try {
      successor = newLease(next);
      exchanged[Arrays.asList(leases).indexOf(lease)] = successor;
    } catch (Throwable e) {
      Timer.logFailure("handing off a grant", e);
      return null;
    }
    leases = exchanged;
    issued++;
    lease.markReleased(ReleaseOutcome.HANDED_OFF);
    reschedule();
    successor.reportAcquired();
    return successor;
  }

  /** Adds a lease beside a held one; null if that has ended, or no lease can be made. */
  synchronized @Nullable LeaseState admit(LeaseState beside, Request next) {
    if (beside.phase() != LeasePhase.HELD || issued == Grant.LEASES_PER_GRANT) {
      return null;
    }
    try {
      long wall = engine.platform.wallMillis();
      return issue(next, wall, engine.platform.nanoTime());
    } catch (Throwable e) {
      Timer.logFailure("admitting a reader", e);
      return null;
    }
  }

  // --- its properties ---------------------------------------------------------------------------

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

  long grantedAt() {
    return grantedAt;
  }

  /** Whether all other leases have ended. */
  boolean isLast(LeaseState lease) {
    for (LeaseState other : leases) {
      if (other != lease && !other.phase().isEnd()) {
        return false;
      }
    }
    return true;
  }

  private boolean hasEnded() {
    return !anyLease(lease -> !lease.phase().isEnd());
  }

  private boolean anyLease(Predicate<LeaseState> condition) {
    for (LeaseState lease : leases) {
      if (condition.test(lease)) {
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

  synchronized @Nullable CompletableFuture<Boolean> renewalInFlight() {
    return renewalInFlight;
  }

  synchronized @Nullable LockException problem() {
    return problem;
  }

  /** The time between two renewals, in nanoseconds. */
  long interval() {
    return grant.validityPerConfirmation().toNanos() / RENEWALS_PER_TTL;
  }

  /** The time before the last confirmed request was sent. */
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
    LeaseState toRelease = null;
    synchronized (this) {
      long wall = engine.platform.wallMillis();
      long at = now + validity.slept(wall, now); // by whichever clock has advanced further
      if (isRenewalDue(at)) {
        for (LeaseState lease : leases) {
          lease.abandonIfUnreleasable();
        }
        if (renewalInFlight == null && isRenewed()) {
          engine.renewer.add(this);
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
        toRelease = lease.isReleaseDue(now) ? lease : toRelease;
      }
      reschedule(wall, now);
    }
    publish();
    if (toRelease != null) {
      new Release(toRelease).startOfKept();
    }
  }

  /** Plans the next event. Under the monitor; {@link #publish} follows. */
  void reschedule() {
    long wall = engine.platform.wallMillis();
    reschedule(wall, engine.platform.nanoTime());
  }

  private synchronized void reschedule(long wall, long now) {
    if (hasEnded()) {
      clearDue();
      return;
    }
    long slept = validity.slept(wall, now);
    // A renewal that is due and has no outcome may have found no thread: try again.
    long renewal = isRenewalDue(now + slept) ? now + interval() / RENEWAL_GRID : renewAt - slept;
    long next = now + Long.MAX_VALUE / 2;
    for (LeaseState lease : leases) {
      next = Validity.earlier(next, lease.dueAt(wall, now, renewal, riskAt() - slept));
    }
    setDue(next);
  }

  private boolean isRenewed() {
    return anyLease(LeaseState::needsRenewal);
  }

  @GuardedBy("this")
  private boolean isRenewalDue(long at) {
    return renewAt - at <= 0 && isRenewed();
  }

  /**
   * The time from which an unconfirmed lease is at risk: the last third of the validity. A renewal
   * that fails puts it at risk at once.
   */
  private long riskAt() {
    return validity.until() - interval();
  }

  @GuardedBy("this")
  private void planRenewal(long at) {
    renewAt = at - Math.floorMod(at, Math.max(1, interval() / RENEWAL_GRID));
  }

  /** Passes a change on to the timer and the listeners. Called under no monitor. */
  void publish() {
    engine.timer.update(this);
    engine.notifier.flush();
  }

  /** Whether this grant may have to be renewed or to end because the machine slept. */
  boolean mayBeOverdue(long wallMillis, long now) {
    return validity.slept(wallMillis, now) > LeaseTerm.MIN_SLEEP.toNanos()
        || anyLease(lease -> lease.remaining(wallMillis, now) <= 0);
  }

  // --- renewal ----------------------------------------------------------------------------------

  @Override
  public Duration renewalTimeout() {
    Duration interval = Duration.ofNanos(interval());
    Duration max = engine.requestTimeout();
    return interval.compareTo(max) < 0 ? interval : max;
  }

  /** Whether a lease is held, or kept for its minimum hold. */
  private boolean isRenewable() {
    return anyLease(LeaseState::isLive);
  }

  @Override
  public synchronized boolean startRenewal(CompletableFuture<Boolean> own) {
    long wall = engine.platform.wallMillis();
    long now = engine.platform.nanoTime();
    return isRenewalDue(now + validity.slept(wall, now)) && joinRenewal(own) == own;
  }

  @Override
  public boolean awaitRenewal(CompletableFuture<Boolean> own, Deadline deadline)
      throws InterruptedException {
    CompletableFuture<Boolean> other;
    while ((other = joinRenewal(own)) != own) {
      if (other == null) {
        return false;
      }
      if (!Futures.await(engine.platform, other, deadline)) {
        throw engine.unavailable("the store has not answered an earlier renewal", null);
      }
      endOverdue();
    }
    return true;
  }

  /** Returns the renewal in flight, the caller's if there was none; null if the grant has ended. */
  private synchronized @Nullable CompletableFuture<Boolean> joinRenewal(
      CompletableFuture<Boolean> own) {
    if (!isRenewable()) {
      return null;
    }
    if (renewalInFlight == null) {
      renewalInFlight = own;
    }
    return renewalInFlight;
  }

  @Override
  public void finishRenewal(CompletableFuture<Boolean> own, Renewal outcome, Renewer.Sent request) {
    synchronized (this) {
      if (renewalInFlight == own) {
        // Cleared together with the new due time: a renewal that comes due finds none in flight.
        renewalInFlight = null;
      }
      long wall = engine.platform.wallMillis();
      long now = engine.platform.nanoTime();
      // A confirmation after the end does not bring a lease back. The end only moves here, under
      // the monitor, so that a lease that was once seen as ended stays so.
      if (anyLease(lease -> lease.isOpen() && lease.remaining(wall, now) > 0)) {
        if (outcome instanceof Renewal.Renewed confirmed) {
          extend(confirmed.validUntil(), request, wall, now);
        } else if (outcome instanceof Renewal.Failed failed) {
          retryLater(failed.problem(), wall, now);
        }
        reschedule(wall, now);
      } else if (!(outcome instanceof Renewal.Lost)) {
        problem =
            engine.unavailable(
                "the store answered a renewal only after the validity had ended", null);
      }
    }
    if (outcome instanceof Renewal.Lost gone) {
      reportLoss(gone.reason(), gone.detail());
    } else {
      endOverdue();
    }
    publish();
  }

  @GuardedBy("this")
  private void extend(long confirmedUntil, Renewer.Sent request, long wall, long now) {
    long perConfirmation = grant.validityPerConfirmation().toNanos();
    // Never more than the grant allowed, whatever the backend reports now.
    long end = Validity.earlier(confirmedUntil, request.at() + perConfirmation);
    Validity confirmed = new Validity(end, request.clockOffset());
    // The validity that the program has seen must not shrink because of a pause between reading the
    // two clocks, which looks like sleep.
    if (confirmed.remaining(wall, now) - validity.remaining(wall, now) > 0) {
      validity = confirmed;
    }
    problem = null;
    backoff = null;
    // Sleep before the request does not count. Less confirmed validity means an earlier renewal.
    long missing = request.at() + perConfirmation - end;
    planRenewal(
        request.at()
            + validity.slept(wall, now)
            - confirmed.slept(wall, now)
            + Math.max(interval() - missing, interval() / MAX_RENEWALS_PER_INTERVAL));
    for (LeaseState lease : leases) {
      lease.onRenewed(request, wall, now);
    }
  }

  @GuardedBy("this")
  private void retryLater(LockException failure, long wall, long now) {
    problem = failure;
    if (backoff == null) {
      backoff = new Backoff(engine.platform, grant.validityPerConfirmation());
    }
    renewAt = now + validity.slept(wall, now) + backoff.nextNanos();
    for (LeaseState lease : leases) {
      lease.onRenewalFailed(failure);
      lease.putAtRisk(failure);
    }
  }

  // --- its loss ---------------------------------------------------------------------------------

  /** Ends the leases, because the store reports that the grant is gone. */
  void reportLoss(LossReason reason, String detail) {
    endLost(lease -> lease.lossUnlessDeferred(reason, detail));
  }

  /** Ends the leases whose validity is over, even if nothing has noticed that yet. */
  void endOverdue() {
    for (LeaseState lease : leases) {
      if (lease.hasLapsed()) {
        endLost(LeaseState::lossIfOver);
        return;
      }
    }
  }

  /** Extends the validity to the latest end of the grant on the store. Under the monitor. */
  void extendTo(long end) {
    if (end - validity.until() > 0) {
      validity = new Validity(end, validity.clockOffset());
    }
  }

  /**
   * Ends leases as lost, unless their release is in flight. Under the monitor, each loss is
   * recorded and queued for its future and its listeners. Then this thread starts those, each on a
   * thread of its own, runs the client's own reactions, undoes what may remain on the store, and
   * promotes the next head.
   *
   * @param verdict returns the loss of a lease, or null if it is not lost; called under the monitor
   * @return whether the grant has ended with its leases
   */
  boolean endLost(Function<LeaseState, @Nullable LeaseLostException> verdict) {
    List<Loss> losses = new ArrayList<>(leases.length);
    boolean promotesNext = false;
    boolean hasEnded;
    synchronized (this) {
      for (LeaseState lease : leases) {
        LeaseLostException why = lease.isOpen() ? verdict.apply(lease) : null;
        if (why != null) {
          losses.add(new Loss(lease, why));
          // A release in progress promotes the next head itself.
          promotesNext |= isWhole() && lease.isLive();
          lease.markLost(why);
        }
      }
      dropEnded();
      hasEnded = !losses.isEmpty() && hasEnded();
    }
    if (losses.isEmpty()) {
      return false;
    }
    try {
      engine.notifier.flush();
      for (Loss loss : losses) {
        loss.lease().runLossAction(loss.why());
      }
    } finally {
      if (hasEnded) {
        undoOnStore(losses.get(0).why().reason());
      }
      if (promotesNext) {
        holdings.promoteNext(name());
      }
    }
    return hasEnded;
  }

  /** Undoes what may remain on the store, unless the closing thread does. Never throws. */
  private void undoOnStore(LossReason reason) {
    try {
      if (isGoneFromStore(reason)) {
        engine.cleanup.forget(grant.claim());
      } else if (reason != LossReason.CLOSED) {
        engine.cleanup.undo(grant);
      }
    } catch (Throwable e) {
      Timer.logFailure("undoing a grant", e);
    } finally {
      // Not earlier, because a client that is being closed waits for this.
      holdings.remove(this);
    }
  }

  private boolean isGoneFromStore(LossReason reason) {
    return switch (reason) {
      case TAKEN, SESSION_ENDED -> true;
      // A lease may end before its grant, which a renewal without a reply may have prolonged.
      case EXPIRED, ABANDONED ->
          grant.expiresOnStore()
              && validity.remaining(engine.platform) <= 0
              && renewalInFlight() == null
              && problem() == null;
      default -> false;
    };
  }
}
