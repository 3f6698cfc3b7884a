package dev.interlock.internal;

import dev.interlock.LeaseLostException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Deadline;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Finishes the release of a lease: the lock is kept until its minimum hold has passed, or another
 * thread of the client takes the grant over, or the store releases it.
 */
final class Release {

  private final LeaseState lease;
  private final HeldGrant grant;
  private final Engine engine;

  /** Made before the release begins, because one that has begun has to be finished. */
  Release(LeaseState lease) {
    this.lease = lease;
    this.grant = lease.grant();
    this.engine = lease.engine();
  }

  /** Releases a lease that its program never got; no minimum hold applies. Never throws. */
  static void giveUp(LeaseState lease, @Nullable Deadline latest) {
    try {
      lease.forgetMinHold();
      var unused = lease.release(latest);
    } catch (Throwable e) {
      abandon(lease, e);
    }
  }

  /** As {@link #giveUp}, on a thread of the client. */
  static void giveUpAsync(LeaseState lease) {
    try {
      lease.forgetMinHold();
      var unused = new Release(lease).async();
    } catch (Throwable e) {
      abandon(lease, e);
    }
  }

  /** Nobody has it, so it must not be renewed. */
  private static void abandon(LeaseState lease, Throwable failure) {
    Timer.failed("releasing an unused lease", failure);
    try {
      lease.abandon("its release failed");
    } catch (Throwable e) {
      Timer.failed("abandoning an unused lease", e);
    }
  }

  /**
   * Finishes a release.
   *
   * @param other what {@link LeaseState#beginRelease} returned
   * @param latest until when to ask the server; null for a request time-out
   */
  ReleaseOutcome finish(
      @Nullable CompletableFuture<ReleaseOutcome> other, @Nullable Deadline latest) {
    if (other != null) {
      // Another thread's release, which is bounded by the request time-out.
      return Awaiting.join(engine.platform, other);
    }
    ReleaseOutcome outcome = ReleaseOutcome.UNKNOWN;
    try {
      outcome = run(latest);
    } finally {
      abortIfUnfinished();
      lease.tellRelease(outcome);
    }
    return outcome;
  }

  /** Ends a release that has failed between two steps, as without memory. */
  private void abortIfUnfinished() {
    synchronized (grant) {
      if (lease.phase() != LeasePhase.PASSING) {
        return;
      }
      lease.markReleasing();
    }
    boolean last = grant.isLast(lease);
    try {
      if (last) {
        engine.cleanup.undo(grant.grant());
      }
    } finally {
      synchronized (grant) {
        lease.markReleased(ReleaseOutcome.UNKNOWN);
        grant.dropEnded();
      }
      if (last) {
        grant.holdings().remove(grant);
      }
      endTurn();
    }
  }

  private AsyncRequest<ReleaseOutcome> later() {
    return new AsyncRequest<>(engine, deadline -> finish(null, deadline));
  }

  /** Begins a release, and finishes it on a thread of the client. */
  CompletableFuture<ReleaseOutcome> async() {
    AsyncRequest<ReleaseOutcome> finish = later();
    CompletableFuture<ReleaseOutcome> other = lease.beginRelease();
    if (other == null) {
      return finish.start();
    }
    // It occupies no thread: the release that it waits for may need that thread.
    return engine.notifier.follow(other);
  }

  /** Releases a lease that the client keeps, on a thread of the client. */
  void ofKept() {
    AsyncRequest<ReleaseOutcome> finish = later();
    if (lease.beginReleaseOfKept()) {
      var unused = finish.start();
    }
  }

  private ReleaseOutcome run(@Nullable Deadline latest) {
    if (minHold() == null) {
      return handOffOrLeave(latest);
    }
    // If the server does not confirm to defer it, the release has what is left of this time.
    Deadline deadline = latest == null ? engine.requestDeadline() : latest;
    ReleaseOutcome deferred = defer(deadline);
    return deferred == null ? handOffOrLeave(deadline) : deferred;
  }

  // --- the minimum hold -------------------------------------------------------------------------

  private @Nullable MinHold minHold() {
    synchronized (grant) {
      return lease.minHoldToDefer();
    }
  }

  /** Returns null if the minimum hold passes meanwhile, or nothing can keep the lock. */
  private @Nullable ReleaseOutcome defer(Deadline latest) {
    ReleaseOutcome outcome = null;
    try {
      if (lease.canDefer()) {
        outcome = deferOnServer(latest);
      }
    } catch (Throwable e) {
      if (lease.phase() != LeasePhase.PASSING) {
        throw e;
      }
      Timer.failed("deferring a release", e);
    }
    return outcome == null && keep() ? ReleaseOutcome.DEFERRED : outcome;
  }

  /**
   * Lets the server release it when the minimum hold has passed, whatever becomes of this client.
   *
   * @return null if it has not confirmed that, and the lease is as before
   */
  private @Nullable ReleaseOutcome deferOnServer(Deadline latest) {
    // Or else the time to renew it instead.
    Deadline deadline = latest.orIn(grant.patience());
    if (deadline.hasPassed() || !awaitRenewal(deadline)) {
      return null;
    }
    Duration delay;
    synchronized (grant) {
      MinHold minHold = lease.minHoldToDefer();
      delay = minHold == null ? Duration.ZERO : minHold.rest();
      if (delay.isZero() || !grant.isLast(lease)) {
        return null;
      }
      lease.markReleasing();
    }
    @Nullable ReleaseOutcome answer = ReleaseOutcome.UNKNOWN;
    ReleaseOutcome outcome = null;
    try {
      answer = engine.cleanup.tryRelease(grant.grant(), delay, deadline);
      if (answer == ReleaseOutcome.ALREADY_LOST) {
        // Or revoked: the server then keeps it until it is released.
        outcome = releaseOnServer(deadline);
      } else if (answer == ReleaseOutcome.DEFERRED) {
        outcome = answer;
      }
    } finally {
      if (outcome == null) {
        synchronized (grant) {
          lease.resumePassing(answer != null);
        }
      } else {
        try {
          end(outcome);
        } finally {
          endTurn();
        }
      }
    }
    return outcome;
  }

  /** Keeps the lock for the client, if the minimum hold has not passed. */
  private boolean keep() {
    try {
      synchronized (grant) {
        if (engine.endsLeases() || !lease.keep()) {
          return false;
        }
        grant.reschedule();
      }
    } catch (Throwable e) {
      Timer.failed("keeping a lock for its minimum hold", e);
      return false;
    }
    grant.publish();
    return true;
  }

  // --- the end of the lease ---------------------------------------------------------------------

  private ReleaseOutcome handOffOrLeave(@Nullable Deadline latest) {
    if (Handoff.toNext(lease)) {
      return ReleaseOutcome.HANDED_OFF;
    }
    try {
      return leave(latest);
    } finally {
      endTurn();
    }
  }

  private void endTurn() {
    if (grant.isWhole()) {
      grant.holdings().endTurn(grant.name());
    }
  }

  /** Leaves the grant to others that have it; if there are none, releases it on the server. */
  private ReleaseOutcome leave(@Nullable Deadline latest) {
    synchronized (grant) {
      if (lease.phase() == LeasePhase.LOST) {
        return ReleaseOutcome.ALREADY_LOST;
      }
      if (grant.isLast(lease)) {
        lease.markReleasing();
      } else {
        lease.markReleased(ReleaseOutcome.HANDED_OFF);
        grant.dropEnded();
      }
    }
    if (lease.phase() == LeasePhase.RELEASED) {
      engine.notifier.flush();
      return ReleaseOutcome.HANDED_OFF;
    }
    ReleaseOutcome outcome = ReleaseOutcome.UNKNOWN;
    try {
      Deadline deadline =
          latest == null ? engine.requestDeadline() : latest.orIn(engine.requestTimeout());
      // If it is overdue, going on is safe: the claim guards its outcome.
      var unused = awaitRenewal(deadline);
      outcome = releaseOnServer(deadline);
    } finally {
      end(outcome);
    }
    return outcome;
  }

  /** Waits for a renewal in flight; returns whether none is. */
  private boolean awaitRenewal(Deadline deadline) {
    CompletableFuture<Boolean> round = grant.round();
    return round == null || Awaiting.doneUninterruptibly(engine.platform, round, deadline);
  }

  private ReleaseOutcome releaseOnServer(Deadline deadline) {
    ReleaseOutcome answer = engine.cleanup.release(grant.grant(), deadline);
    synchronized (grant) {
      return lease.unlessDeferred(answer);
    }
  }

  /** Ends the lease, and its grant, as the server has answered. */
  private void end(ReleaseOutcome outcome) {
    LeaseLostException loss =
        outcome == ReleaseOutcome.ALREADY_LOST ? lease.lossFoundAtRelease() : null;
    synchronized (grant) {
      if (loss == null) {
        lease.markReleased(outcome);
      } else {
        lease.markLost(loss);
      }
      grant.dropEnded();
    }
    grant.holdings().remove(grant);
    engine.notifier.flush();
    if (loss != null) {
      lease.runOnLoss(loss);
    }
  }
}
