package dev.interlock.internal;

import dev.interlock.LeaseLostException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Deadline;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Finishes the release of a lease: the lock is kept until its minimum hold has passed, another
 * thread of the client takes the grant over, or the store releases it.
 */
final class Release {

  private final LeaseState lease;
  private final HeldGrant grant;
  private final Engine engine;

  /** Called before the release begins, because a release that has begun must be finished. */
  Release(LeaseState lease) {
    this.lease = lease;
    this.grant = lease.grant();
    this.engine = lease.engine();
  }

  /** Releases a lease that the program never got; no minimum hold applies. Never throws. */
  static void releaseUnused(LeaseState lease, @Nullable Deadline latest) {
    try {
      lease.forgetMinHold();
      var unused = lease.release(latest);
    } catch (Throwable e) {
      abandon(lease, e);
    }
  }

  /** Releases a lease that the program never got, on a thread of the client. Never throws. */
  static void releaseUnusedAsync(LeaseState lease) {
    try {
      lease.forgetMinHold();
      var unused = new Release(lease).start();
    } catch (Throwable e) {
      abandon(lease, e);
    }
  }

  /** Stops the renewal of a lease that nobody has. */
  private static void abandon(LeaseState lease, Throwable failure) {
    Timer.logFailure("releasing an unused lease", failure);
    try {
      lease.abandon("its release failed");
    } catch (Throwable e) {
      Timer.logFailure("abandoning an unused lease", e);
    }
  }

  /**
   * Finishes a release.
   *
   * @param other the result of {@link LeaseState#beginRelease}
   * @param latest the deadline of the request to the store; null for a request time-out
   */
  ReleaseOutcome finish(
      @Nullable CompletableFuture<ReleaseOutcome> other, @Nullable Deadline latest) {
    if (other != null) {
      // The request time-out bounds the release by another thread.
      return Futures.join(engine.platform, other);
    }
    ReleaseOutcome outcome = ReleaseOutcome.UNKNOWN;
    try {
      outcome = run(latest);
    } finally {
      abortIfUnfinished();
      lease.completeOtherReleases(outcome);
    }
    return outcome;
  }

  /** Ends a release that has failed between two steps, as it may without memory. */
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
      promoteNext();
    }
  }

  private AsyncRequest<ReleaseOutcome> newFinish() {
    return new AsyncRequest<>(engine, deadline -> finish(null, deadline));
  }

  /** Begins the release, and finishes it on a thread of the client. */
  CompletableFuture<ReleaseOutcome> start() {
    AsyncRequest<ReleaseOutcome> finish = newFinish();
    CompletableFuture<ReleaseOutcome> other = lease.beginRelease();
    if (other == null) {
      return finish.start();
    }
    // Waiting must not occupy a thread: the release under way may need that thread.
    return engine.notifier.follow(other);
  }

  /** Releases a lease that the client keeps, on a thread of the client. */
  void startOfKept() {
    AsyncRequest<ReleaseOutcome> finish = newFinish();
    if (lease.beginReleaseOfKept()) {
      var unused = finish.start();
    }
  }

  private ReleaseOutcome run(@Nullable Deadline latest) {
    if (minHold() == null) {
      return handOffOrRelease(latest);
    }
    // If the store does not confirm to defer it, the release has the rest of this time.
    Deadline deadline = latest == null ? engine.requestDeadline() : latest;
    ReleaseOutcome deferred = defer(deadline);
    return deferred == null ? handOffOrRelease(deadline) : deferred;
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
        outcome = deferOnStore(latest);
      }
    } catch (Throwable e) {
      if (lease.phase() != LeasePhase.PASSING) {
        throw e;
      }
      Timer.logFailure("deferring a release", e);
    }
    return outcome == null && keep() ? ReleaseOutcome.DEFERRED : outcome;
  }

  /**
   * Asks the store to release the lock when the minimum hold has passed, whatever happens to this
   * client.
   *
   * @return null if the store has not confirmed that; the lease is then as before
   */
  private @Nullable ReleaseOutcome deferOnStore(Deadline latest) {
    // Leaves time to renew the lease instead.
    Deadline deadline = latest.atMost(grant.renewalTimeout());
    if (deadline.hasPassed() || !awaitRenewal(deadline)) {
      return null;
    }
    Duration delay;
    synchronized (grant) {
      MinHold minHold = lease.minHoldToDefer();
      delay = minHold == null ? Duration.ZERO : minHold.remainingOnStore();
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
        // The lock may have been revoked: the store then keeps it until it is released.
        outcome = releaseOnStore(deadline);
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
          promoteNext();
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
      Timer.logFailure("keeping a lock for its minimum hold", e);
      return false;
    }
    grant.publish();
    return true;
  }

  // --- the end of the lease ---------------------------------------------------------------------

  private ReleaseOutcome handOffOrRelease(@Nullable Deadline latest) {
    if (Handoff.tryHandOff(lease)) {
      return ReleaseOutcome.HANDED_OFF;
    }
    try {
      return releaseOrLeave(latest);
    } finally {
      promoteNext();
    }
  }

  private void promoteNext() {
    if (grant.isWhole()) {
      grant.holdings().promoteNext(grant.name());
    }
  }

  /** Leaves the grant to its other leases; if there are none, releases it on the store. */
  private ReleaseOutcome releaseOrLeave(@Nullable Deadline latest) {
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
          latest == null ? engine.requestDeadline() : latest.atMost(engine.requestTimeout());
      // An overdue renewal does not matter: the claim guards its outcome.
      var unused = awaitRenewal(deadline);
      outcome = releaseOnStore(deadline);
    } finally {
      end(outcome);
    }
    return outcome;
  }

  /** Waits for a renewal in flight; returns whether none remains. */
  private boolean awaitRenewal(Deadline deadline) {
    CompletableFuture<Boolean> renewal = grant.renewalInFlight();
    return renewal == null || Futures.awaitUninterruptibly(engine.platform, renewal, deadline);
  }

  private ReleaseOutcome releaseOnStore(Deadline deadline) {
    ReleaseOutcome answer = engine.cleanup.release(grant.grant(), deadline);
    synchronized (grant) {
      return lease.resolveDeferral(answer);
    }
  }

  /** Ends the lease and its grant, as the store has answered. */
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
      lease.runLossAction(loss);
    }
  }
}
