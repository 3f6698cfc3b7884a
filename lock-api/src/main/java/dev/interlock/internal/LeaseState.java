package dev.interlock.internal;

import dev.interlock.Capability;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One lease of a {@link HeldGrant}: its phase, its own limits, and its observers. The program has a
 * separate handle, so that the client notices when the handle becomes unreachable.
 *
 * <p>It changes under the monitor of its grant. Methods that say so are called under that monitor.
 */
final class LeaseState implements Observers.Subject {

  private final HeldGrant grant;
  private final Engine engine;
  private final Request request;

  /** The number of leases that the grant had before. */
  private final int number;

  private final long begunAt;
  private final long begunAtMillis;

  private volatile LeasePhase phase = LeasePhase.HELD;

  private final LeaseTerm term;
  private @Nullable MinHold minHold;

  private @Nullable LockException risk;

  /** The end as the program sees it: a {@link ReleaseOutcome} or a {@link LeaseLostException}. */
  private @Nullable Object outcome;

  private final ProgramHold hold;

  /** Null until the first observer registers. */
  private @Nullable Observers observers;

  /** Completed for other threads that release the lease while its release is in progress. */
  private @Nullable CompletableFuture<ReleaseOutcome> otherReleases;

  /** The client's own reaction to a loss, run on the thread that noticed it; never blocks. */
  private @Nullable Consumer<LeaseLostException> lossAction;

  LeaseState(HeldGrant grant, Request request, int number, long wall, long now) {
    this.grant = grant;
    this.engine = grant.engine();
    this.request = request;
    this.number = number;
    this.begunAt = now;
    this.begunAtMillis = wall;
    this.term = new LeaseTerm(engine.platform, grant.grant());
    this.hold = new ProgramHold(request.owner());
    if (!request.isMember()) {
      applyOptions(request.options());
    }
  }

  private void applyOptions(LockOptions options) {
    if (options.minHold().isPresent()) {
      minHold = new MinHold(engine.platform, options.minHold().get());
    }
    term.applyOptions(options, grant.validity());
  }

  /** Applies the options of a member of a set that is complete; until then it is always renewed. */
  void onSetComplete() {
    synchronized (grant) {
      if (isOpen()) {
        applyOptions(request.options());
        grant.reschedule();
      }
    }
    grant.publish();
  }

  HeldGrant grant() {
    return grant;
  }

  Engine engine() {
    return engine;
  }

  Request request() {
    return request;
  }

  String name() {
    return request.name();
  }

  long token() {
    long grantToken = grant.grant().token();
    return grantToken == 0 ? 0 : grantToken * Grant.LEASES_PER_GRANT + number;
  }

  LeasePhase phase() {
    return phase;
  }

  /**
   * Whether this lease has the grant: for the program, the client, or a waiter to hand it off to.
   */
  boolean isOpen() {
    return phase == LeasePhase.PASSING || isLive();
  }

  /** Whether the program holds this lease, or the client keeps it. */
  boolean isLive() {
    LeasePhase current = phase;
    return current == LeasePhase.HELD || current == LeasePhase.KEPT;
  }

  @Override
  public Duration heldFor() {
    return Duration.ofNanos(engine.platform.nanoTime() - begunAt);
  }

  Instant heldSince() {
    return Instant.ofEpochMilli(begunAtMillis);
  }

  // --- validity -------------------------------------------------------------------------------

  /** Returns the nanoseconds until this lease ends; 0 or less if it is over. */
  long remaining(long wall, long now) {
    return term.remaining(grant.validity(), wall, now);
  }

  long remainingNanos() {
    // The wall clock first: a pause between the two readings must not look like sleep.
    long wall = engine.platform.wallMillis();
    return remaining(wall, engine.platform.nanoTime());
  }

  @Override
  public Duration remaining() {
    return Duration.ofNanos(Math.max(0, remainingNanos()));
  }

  /** Whether the validity is over, even if nothing has noticed that yet. */
  boolean hasLapsed() {
    return isLive() && remainingNanos() <= 0;
  }

  /** Whether this lease is valid at this moment. If its validity is over, the lease is lost now. */
  boolean isHeld() {
    endIfOver();
    return phase == LeasePhase.HELD;
  }

  void endIfOver() {
    if (hasLapsed()) {
      StackRoom.require();
      // If it has not ended after this, it was renewed in between.
      grant.endOverdue();
    }
  }

  void ensureHeld() {
    if (isHeld()) {
      return;
    }
    LeaseLostException loss = loss();
    if (loss == null) {
      throw new IllegalStateException("the lease of \"" + name() + "\" has been released");
    }
    // A new exception each time: the caller's stack helps to find the write that came late.
    throw new LeaseLostException(loss.name(), loss.reason(), loss.detail(), loss);
  }

  /** Returns the next time at which this lease ends, is released or at risk, or must be renewed. */
  long dueAt(long wall, long now, long renewal, long riskAt) {
    long due =
        switch (phase) {
          case HELD -> now + remaining(wall, now);
          case KEPT -> Validity.earlier(grant.validity().until(), nextRelease());
          default -> now + Long.MAX_VALUE / 2;
        };
    if (!needsRenewal()) {
      return due;
    }
    long next = Validity.earlier(due, renewal);
    return risk == null ? Validity.earlier(next, riskAt) : next;
  }

  // --- renewal: called under the monitor ------------------------------------------------------

  boolean needsRenewal() {
    return isLive() && term.needsRenewal();
  }

  void onRenewed(Renewer.Sent sent, long wall, long now) {
    risk = null;
    term.rebase(wall, now);
    if (phase == LeasePhase.HELD && remaining(wall, now) > 0) {
      term.extend(sent);
      if (isWatched()) {
        report(new Events.Renewed(source(), remaining()));
      }
    }
  }

  void onRenewalFailed(LockException failure) {
    if (phase == LeasePhase.HELD && isWatched()) {
      report(new Events.RenewalFailed(source(), remaining(), failure));
    }
  }

  void putAtRisk(LockException why) {
    if (isLive() && risk == null) {
      risk = why;
      report(new Events.AtRisk(source(), remaining(), why));
    }
  }

  // --- abandoned leases -----------------------------------------------------------------------

  ProgramHold hold() {
    return hold;
  }

  /** Sets the handle: once that is unreachable, the lease cannot be released. */
  void setHandle(Object handle) {
    hold.setHandle(engine.platform.weak(handle));
  }

  /** Abandons this lease if it can no longer be released. Under the monitor. */
  void abandonIfUnreleasable() {
    String why = phase == LeasePhase.HELD ? hold.whyAbandoned() : null;
    if (why != null) {
      abandonNow(why);
    }
  }

  /** Stops renewing a lease that will not be released. It ends with its validity. */
  void abandon(String why) {
    synchronized (grant) {
      abandonNow(why);
      grant.reschedule();
    }
    grant.publish();
  }

  private void abandonNow(String why) {
    if (phase != LeasePhase.HELD || term.isRenewalStopped()) {
      return;
    }
    term.abandon(grant.validity());
    hold.reportAbandoned(engine, name(), why);
  }

  // --- its loss -------------------------------------------------------------------------------

  @Override
  public @Nullable LeaseLostException loss() {
    synchronized (grant) {
      return outcome instanceof LeaseLostException why ? why : null;
    }
  }

  void loseIfHeld(LossReason reason, String detail) {
    var unused =
        grant.endLost(
            lease -> lease == this && phase == LeasePhase.HELD ? newLoss(reason, detail) : null);
  }

  /** Returns the loss caused by closing the client; null if a release is in progress. */
  @Nullable LeaseLostException lossAtClose() {
    return switch (phase) {
      case HELD -> newLoss(LossReason.CLOSED, "its client was closed while the lease was held");
      case KEPT ->
          newLoss(LossReason.CLOSED, "its client was closed before its minimum hold had passed");
      default -> null;
    };
  }

  /**
   * Returns the loss caused by the store; null while the store may have deferred the release
   * instead. The client then asks again until the store confirms that, and renews the lease no
   * more.
   */
  @Nullable LeaseLostException lossUnlessDeferred(LossReason reason, String detail) {
    if (minHold == null || !minHold.isInDoubt() || reason != LossReason.TAKEN) {
      return newLoss(reason, detail);
    }
    term.stopRenewal();
    grant.extendTo(minHold.end());
    return null;
  }

  /** Returns the loss caused by the end of validity; null if the lease goes on, or was released. */
  @Nullable LeaseLostException lossIfOver() {
    LeaseTerm.End end = isLive() ? term.end(grant.validity()) : null;
    return end == null ? null : newLoss(end.reason(), end.detail());
  }

  private LeaseLostException newLoss(LossReason reason, String detail) {
    return new LeaseLostException(name(), reason, detail, grant.problem());
  }

  /** Ends this lease as lost. Under the monitor. */
  void markLost(LeaseLostException why) {
    boolean releasedBefore = isReleasedByProgram();
    phase = LeasePhase.LOST;
    if (!releasedBefore) {
      outcome = why;
    }
    try {
      // A lock that is kept without renewal is meant to end with its TTL.
      boolean expected = releasedBefore && !term.isRenewed() && why.reason() == LossReason.EXPIRED;
      if (!expected) {
        if (!releasedBefore && observers != null) {
          observers.signalLoss(why);
        }
        report(new Events.Lost(source(), why, heldFor()));
      }
    } catch (Throwable e) {
      // A failure must not stop the transition, for which others wait.
      Timer.logFailure("reporting an event", e);
    }
  }

  /** Runs the client's reaction to the loss. Not under the monitor: it may end other leases. */
  void runLossAction(LeaseLostException why) {
    Consumer<LeaseLostException> action;
    synchronized (grant) {
      action = outcome == why ? lossAction : null;
    }
    if (action != null) {
      action.accept(why);
    }
  }

  /** Sets the client's reaction to a loss; runs it at once if the lease has been lost already. */
  void onLoss(Consumer<LeaseLostException> action) {
    LeaseLostException loss;
    synchronized (grant) {
      lossAction = action;
      loss = loss();
    }
    if (loss != null) {
      action.accept(loss);
    }
  }

  // --- its release ----------------------------------------------------------------------------

  /**
   * Hands its grant off to the next local waiter, or releases it on the store.
   *
   * @param latest the deadline of the request, which gets at most a request time-out
   */
  ReleaseOutcome release(@Nullable Deadline latest) {
    Release release = new Release(this);
    return release.finish(beginRelease(), latest);
  }

  /** Releases this lease as if the given part of its minimum hold remained. */
  ReleaseOutcome releaseAfter(Duration delay) {
    synchronized (grant) {
      if (phase == LeasePhase.HELD) {
        minHold = new MinHold(engine.platform, delay);
      }
    }
    return release(null);
  }

  void forgetMinHold() {
    synchronized (grant) {
      if (phase == LeasePhase.HELD) {
        minHold = null;
      }
    }
  }

  /** Begins the release of a kept lease; false if the client no longer keeps it. */
  boolean beginReleaseOfKept() {
    synchronized (grant) {
      boolean begins = phase == LeasePhase.KEPT;
      if (begins) {
        phase = LeasePhase.PASSING;
      }
      return begins;
    }
  }

  /**
   * Begins a release: from here on the lease is not held. The caller must {@linkplain
   * Release#finish finish} it.
   *
   * @return null, or the outcome of a release that another caller finishes or has finished
   */
  @Nullable CompletableFuture<ReleaseOutcome> beginRelease() {
    endIfOver();
    synchronized (grant) {
      if (outcome instanceof ReleaseOutcome released) {
        return CompletableFuture.completedFuture(released);
      }
      return switch (phase) {
        case HELD -> {
          phase = LeasePhase.PASSING;
          yield null;
        }
        case PASSING, RELEASING -> {
          if (otherReleases == null) {
            otherReleases = new CompletableFuture<>();
          }
          yield otherReleases;
        }
        default -> CompletableFuture.completedFuture(ReleaseOutcome.ALREADY_LOST);
      };
    }
  }

  /** Completes the release for other threads, of which no more can come. Under no monitor. */
  void completeOtherReleases(ReleaseOutcome released) {
    CompletableFuture<ReleaseOutcome> others;
    synchronized (grant) {
      others = otherReleases;
    }
    if (others != null) {
      others.complete(released);
    }
  }

  // --- steps of its release: called under the monitor -------------------------------------------

  boolean mayBeHandedOff() {
    return phase == LeasePhase.PASSING
        && term.isRenewed()
        && (minHold == null || !minHold.isInDoubt());
  }

  void markReleasing() {
    phase = LeasePhase.RELEASING;
  }

  /** Called if the store did not confirm to defer the release. */
  void resumePassing(boolean deferralInDoubt) {
    phase = LeasePhase.PASSING;
    if (deferralInDoubt && minHold != null) {
      minHold.markInDoubt();
    }
  }

  void markReleased(ReleaseOutcome released) {
    phase = LeasePhase.RELEASED;
    endForProgram(released);
  }

  private void endForProgram(ReleaseOutcome released) {
    if (isReleasedByProgram()) {
      return;
    }
    try {
      if (isWatched()) {
        report(new Events.Released(source(), released, heldFor()));
      }
    } catch (Throwable e) {
      // A failure must not stop the transition, for which others wait.
      Timer.logFailure("reporting an event", e);
    }
    outcome = released;
  }

  // --- its minimum hold: called under the monitor ----------------------------------------------

  boolean canDefer() {
    return engine.backend.has(Capability.DEFERRED_RELEASE);
  }

  /** Returns the minimum hold if a release can still be deferred; otherwise null. */
  @Nullable MinHold minHoldToDefer() {
    boolean defers = phase == LeasePhase.PASSING && (!isReleasedByProgram() || canDefer());
    return defers && minHold != null && !minHold.isOver() ? minHold : null;
  }

  /**
   * Keeps this lease for the client if the minimum hold has not passed; returns whether it does.
   */
  boolean keep() {
    if (minHold == null || minHold.isOver() || phase != LeasePhase.PASSING) {
      return false;
    }
    minHold.planRelease(canDefer(), grant.renewalTimeout().toNanos(), grant.interval());
    // The options do not apply to this renewal.
    term.keepForClient(minHold.end() - grant.validity().until() > 0);
    risk = null;
    phase = LeasePhase.KEPT;
    endForProgram(ReleaseOutcome.DEFERRED);
    return true;
  }

  private long nextRelease() {
    return minHold == null ? engine.platform.nanoTime() : minHold.nextRelease();
  }

  boolean isReleaseDue(long now) {
    return phase == LeasePhase.KEPT && nextRelease() - now <= 0;
  }

  /** A store that has deferred the release keeps the lock until its minimum hold is over. */
  ReleaseOutcome resolveDeferral(ReleaseOutcome answer) {
    boolean deferred = minHold != null && minHold.isInDoubt() && minHold.isOver();
    return deferred && answer == ReleaseOutcome.ALREADY_LOST ? ReleaseOutcome.DEFERRED : answer;
  }

  LeaseLostException lossFoundAtRelease() {
    return grant.validity().remaining(engine.platform) > 0
        ? newLoss(LossReason.TAKEN, "the store no longer had it when it was released")
        : newLoss(LossReason.EXPIRED, "its TTL passed before the store confirmed its release");
  }

  // --- reporting ------------------------------------------------------------------------------

  Observers observers() {
    synchronized (grant) {
      if (observers == null) {
        observers = new Observers(engine.notifier, grant, this);
      }
      return observers;
    }
  }

  /** Reports the acquisition to listeners, unless they know that it has ended. */
  void reportAcquired() {
    try {
      if (engine.notifier.hasListeners()) {
        Duration waited = Duration.ofNanos(Math.max(0, begunAt - request.startedAt()));
        synchronized (grant) {
          synchronized (request.acquisition()) {
            if (request.acquisition().end()) {
              report(new Events.Acquired(source(), waited, number > 0));
            }
          }
        }
      }
    } catch (Throwable e) {
      // A failure must not stop the transition, for which others wait.
      Timer.logFailure("reporting an event", e);
    }
  }

  @Override
  public Events.Source source() {
    return engine.reports.source(request, token());
  }

  @Override
  public @Nullable LockException risk() {
    return phase == LeasePhase.HELD ? risk : null;
  }

  /** Whether the program has released this lease; everything after that is only logged. */
  private boolean isReleasedByProgram() {
    return outcome instanceof ReleaseOutcome;
  }

  private boolean isWatched() {
    return (observers != null && !observers.isEmpty()) || engine.notifier.hasListeners();
  }

  private void report(LockEvent event) {
    if (!isReleasedByProgram()) {
      if (observers != null) {
        observers.report(event);
      }
      engine.notifier.enqueueAll(event);
    }
    if (event instanceof LockEvent.AtRisk || event instanceof LockEvent.Lost) {
      engine.leaseLog.enqueue(event);
    }
  }
}
