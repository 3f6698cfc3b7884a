package dev.interlock.simulation.oracle;

import dev.interlock.ReleaseOutcome;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.history.HistoryChecker;
import dev.interlock.tck.history.Violation;
import java.util.List;

/** Checks a whole history in the end: who held what, and how each lease ended. */
public final class HistoryCheck {

  private static final String NOT_EXPIRED = "SUSPENDED|SESSION_ENDED|TAKEN";
  private static final long MS = 1_000_000;

  private final Scheduler scheduler;
  private final List<Held> leases;
  private final List<Event> events;

  HistoryCheck(Scheduler scheduler, List<Held> leases, List<Event> events) {
    this.scheduler = scheduler;
    this.leases = leases;
    this.events = events;
  }

  /** Checks the whole history. */
  void check(boolean outside, boolean calm) {
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
    for (Held held : leases) {
      if (!held.isView) {
        checkEnd(held, calm);
      }
    }
  }

  /** Fails if a name was two things at once. What was over when it was granted was never held. */
  private void checkAgreement() {
    for (Held held : leases) {
      for (Held other : leases) {
        if (other.name.equals(held.name) && !other.share.agreesWith(held.share)) {
          held.require(
              Math.min(held.heldUntil(), other.heldUntil())
                  <= Math.max(held.grantedAt, other.grantedAt),
              "KIND",
              "was held together with " + other);
        }
      }
    }
  }

  /**
   * Fails if a lease that expired was not reported as at risk in time: for about a third of its
   * TTL.
   */
  private void checkWarning(Held held) {
    // A confirmation may arrive so late that the lease is at risk from then on.
    long due = Math.max(held.validAtMost - held.leftAtFirst / 3, held.renewedAt);
    long at = held.atRiskSince == null ? held.lossSignalledAt : held.atRiskSince;
    long from = held.validUntil - held.leftAtFirst;
    boolean disturbed =
        held.machine.lateness(from, held.lossSignalledAt) != held.lossSignalledAt - from;
    // The end of a maximum hold hides until when the store would have kept the lease.
    boolean hidden =
        held.mustEndBy != Journal.NEVER && held.validAtMost >= held.mustEndBy - Machine.TOLERANCE;
    boolean released = held.releaseCalledAt <= (hidden ? held.mustEndBy : due);
    held.require(
        disturbed || held.wasWarnedBefore || released || at - due <= Machine.TOLERANCE,
        "LOSS-02",
        "lost without a warning in time");
  }

  private void checkEnd(Held held, boolean calm) {
    int losses = held.lossesSignalled;
    int releases = held.releasesReported;
    ReleaseOutcome outcome = held.outcome;
    held.require(losses <= 1, "LOSS-01", "its loss was signalled " + losses + " times");
    held.require(releases <= 1, "LOSS-03", "its release was reported " + releases + " times");
    held.require(losses == 0 || releases == 0, "LOSS-03", "reported both released and lost");
    held.require(
        losses == 0
            || outcome == null
            || outcome == ReleaseOutcome.ALREADY_LOST
            || outcome == ReleaseOutcome.UNKNOWN,
        "LOSS-03",
        "released, yet reported lost: " + held.reason);
    if (held.machine.isDead()) {
      return;
    }
    held.require(
        outcome != null || losses > 0 || releases > 0,
        "LOSS-01",
        "neither released nor reported lost");
    held.require(
        outcome != ReleaseOutcome.ALREADY_LOST || losses > 0,
        "LOSS-01",
        "release said ALREADY_LOST, but no loss was signalled");
    if (losses > 0) {
      // A set does not report its renewals, so its last validity may not have been observed.
      long due =
          Math.min(held.isOfSet ? Journal.NEVER : held.validAtMost, held.reportedByBackendAt());
      long late = held.machine.lateness(due, held.lossSignalledAt);
      held.require(
          held.releaseCalledAt <= due || late <= held.machine.tolerance(),
          "LOSS-02",
          "its loss (" + held.reason + ") was signalled " + late / MS + " ms late");
      boolean expired = held.reason.equals("EXPIRED");
      if (expired && held.renews && !held.isOfSet) {
        checkWarning(held);
      }
      held.require(
          !calm || !held.reason.matches(held.renews ? NOT_EXPIRED + "|EXPIRED" : NOT_EXPIRED),
          expired ? "LEASE-07" : "LOSS-03",
          "lost in a calm world: " + held.reason);
    }
  }
}
