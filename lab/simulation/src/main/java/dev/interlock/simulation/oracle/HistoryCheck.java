package dev.interlock.simulation.oracle;

import dev.interlock.ReleaseOutcome;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.history.HistoryChecker;
import dev.interlock.tck.history.Violation;
import java.util.List;

/** Checks the whole history of a world: the holders of each name, and the end of each lease. */
public final class HistoryCheck {

  private static final String LOST_BEFORE_EXPIRY = "SUSPENDED|SESSION_ENDED|TAKEN";
  private static final long MS = 1_000_000;

  private final Scheduler scheduler;
  private final List<ObservedLease> leases;
  private final List<Event> events;

  HistoryCheck(Scheduler scheduler, List<ObservedLease> leases, List<Event> events) {
    this.scheduler = scheduler;
    this.leases = leases;
    this.events = events;
  }

  void check(boolean outside, boolean undisturbed) {
    HistoryChecker checker =
        outside ? HistoryChecker.outsideFailureModel() : HistoryChecker.withinFailureModel();
    for (Violation violation : checker.check(events)) {
      if (violation.kind() == Violation.Kind.OVERLAP) {
        if (!outside) {
          scheduler.fail("EXCL-01", violation.toString());
        }
      } else {
        scheduler.fail("FENCE-01", violation.toString());
      }
    }
    if (!outside) {
      checkAgreement();
    }
    for (ObservedLease observed : leases) {
      if (!observed.isView) {
        checkEnd(observed, undisturbed);
      }
    }
  }

  /**
   * Fails if a name was of two kinds at once. A lease that was over at its grant was never held.
   */
  private void checkAgreement() {
    for (ObservedLease observed : leases) {
      for (ObservedLease other : leases) {
        if (other.name.equals(observed.name) && !other.share.agreesWith(observed.share)) {
          observed.require(
              Math.min(observed.heldUntil(), other.heldUntil())
                  <= Math.max(observed.grantedAt, other.grantedAt),
              "KIND",
              "was held together with " + other);
        }
      }
    }
  }

  /**
   * Fails if a lease that expired was not reported as at risk in time, which is about a third of
   * its TTL before.
   */
  private void checkWarning(ObservedLease observed) {
    // A confirmation may arrive so late that the lease is at risk at once.
    long due = Math.max(observed.maxValidUntil - observed.initialValidity / 3, observed.renewedAt);
    long at = observed.atRiskSince == null ? observed.lossSignalledAt : observed.atRiskSince;
    long from = observed.validUntil - observed.initialValidity;
    boolean disturbed =
        observed.machine.lateness(from, observed.lossSignalledAt)
            != observed.lossSignalledAt - from;
    // A maximum hold hides the time until which the store would have kept the lease.
    boolean isHiddenByMaxHold =
        observed.mustEndBy != Journal.NEVER
            && observed.maxValidUntil >= observed.mustEndBy - Machine.TOLERANCE;
    boolean released = observed.releaseCalledAt <= (isHiddenByMaxHold ? observed.mustEndBy : due);
    observed.require(
        disturbed || observed.wasAtRiskAtFirst || released || at - due <= Machine.TOLERANCE,
        "LOSS-02",
        "lost without a warning in time");
  }

  private void checkEnd(ObservedLease observed, boolean undisturbed) {
    int losses = observed.lossesSignalled;
    int releases = observed.releasesReported;
    ReleaseOutcome outcome = observed.outcome;
    observed.require(losses <= 1, "LOSS-01", "its loss was signalled " + losses + " times");
    observed.require(releases <= 1, "LOSS-03", "its release was reported " + releases + " times");
    observed.require(losses == 0 || releases == 0, "LOSS-03", "reported both released and lost");
    observed.require(
        losses == 0
            || outcome == null
            || outcome == ReleaseOutcome.ALREADY_LOST
            || outcome == ReleaseOutcome.UNKNOWN,
        "LOSS-03",
        "released, yet reported lost: " + observed.reason);
    if (observed.machine.isDead()) {
      return;
    }
    observed.require(
        outcome != null || losses > 0 || releases > 0,
        "LOSS-01",
        "neither released nor reported lost");
    observed.require(
        outcome != ReleaseOutcome.ALREADY_LOST || losses > 0,
        "LOSS-01",
        "release said ALREADY_LOST, but no loss was signalled");
    if (losses > 0) {
      // A set does not report its renewals, so its last validity may not have been observed.
      long due =
          Math.min(
              observed.isOfSet ? Journal.NEVER : observed.maxValidUntil,
              observed.backendReportedLossAt());
      long late = observed.machine.lateness(due, observed.lossSignalledAt);
      observed.require(
          observed.releaseCalledAt <= due || late <= observed.machine.tolerance(),
          "LOSS-02",
          "its loss (" + observed.reason + ") was signalled " + late / MS + " ms late");
      boolean expired = observed.reason.equals("EXPIRED");
      if (expired && observed.renews && !observed.isOfSet) {
        checkWarning(observed);
      }
      observed.require(
          !undisturbed
              || !observed.reason.matches(
                  observed.renews ? LOST_BEFORE_EXPIRY + "|EXPIRED" : LOST_BEFORE_EXPIRY),
          expired ? "LEASE-07" : "LOSS-03",
          "lost in a world without faults: " + observed.reason);
    }
  }
}
