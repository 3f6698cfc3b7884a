package dev.interlock.simulation.oracle;

import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.Share;
import dev.interlock.tck.history.Event;
import org.jspecify.annotations.Nullable;

/** A lease, with everything that its program has observed of it. */
public final class ObservedLease {

  private static final long MS = 1_000_000;

  private final Journal journal;
  private final Scheduler scheduler;
  final String id;
  public final String name;
  public final Share share;
  public final long token;
  final Machine machine;
  final boolean isView;
  final boolean isOfSet;
  final long requestedAt;
  final long grantedAt;

  /** The remaining validity when it was granted. */
  public final long initialValidity;

  /** Whether it was at risk when it was granted, so that nobody could listen to the warning. */
  final boolean wasAtRiskAtFirst;

  long validUntil;

  /** The latest end of its validity, if the machine was stopped while the lease was read. */
  long maxValidUntil;

  public long mustEndBy = Journal.NEVER;

  /** The end of its minimum hold; an earlier release leaves the lock taken. */
  public long minHoldUntil;

  /** Whether the store enforces the minimum hold, once the release is deferred. */
  boolean isKeptByStore;

  long closedAt = Journal.NEVER;
  long releaseCalledAt = Journal.NEVER;
  @Nullable ReleaseOutcome outcome;

  public boolean renews;
  @Nullable Long atRiskSince;
  long renewedAt;
  int lossesSignalled;
  int releasesReported;
  long lossSignalledAt = Journal.NEVER;
  String reason = "";

  ObservedLease(
      Journal journal,
      Machine machine,
      String name,
      Share share,
      long token,
      long requestedAt,
      @Nullable Lease lease) {
    this.journal = journal;
    this.scheduler = machine.scheduler();
    this.share = share;
    this.requestedAt = requestedAt;
    this.machine = machine;
    this.name = name;
    this.token = token;
    this.isView = lease == null;
    this.isOfSet = lease instanceof MultiLease;
    long before = scheduler.now();
    this.initialValidity = lease == null ? 0 : lease.remainingValidity().toNanos();
    this.id = machine.name() + "/" + (journal.leases() + 1);
    this.grantedAt = scheduler.now();
    this.validUntil = before + machine.trueNanos(initialValidity);
    this.maxValidUntil = grantedAt + machine.trueNanos(initialValidity);
    this.wasAtRiskAtFirst = lease != null && initialValidity <= lease.effectiveTtl().toNanos() / 3;
  }

  /** {@return the time until which it was certainly held} */
  long heldUntil() {
    return Math.min(validUntil, Math.min(closedAt, Math.min(releaseCalledAt, lossSignalledAt)));
  }

  /** {@return whether both leases cannot be held at once} */
  boolean excludes(ObservedLease other) {
    return (long) share.weight() + other.share.weight() > share.capacity();
  }

  /** Fails unless the condition holds. */
  public void require(boolean condition, String rule, String message) {
    if (!condition) {
      scheduler.fail(rule, this + ": " + message);
    }
  }

  /** Records how long the lease is valid, and returns whether it is. */
  public boolean observeValidity(Lease lease) {
    long before = scheduler.now();
    long remaining = lease.remainingValidity().toNanos();
    if (remaining > 0) {
      extend(before + machine.trueNanos(remaining));
      maxValidUntil = Math.max(maxValidUntil, scheduler.now() + machine.trueNanos(remaining));
      requireStored(before + machine.trueNanos(remaining));
    }
    return remaining > 0;
  }

  /** Fails if the lease is valid for longer than the store keeps it, or after its loss. */
  void requireStored(long until) {
    require(
        until - mustEndBy <= machine.tolerance(),
        "LEASE-04",
        "valid after its lock was taken away or its maximum hold");
    long more = until - Math.max(scheduler.now(), journal.keptUntil(this));
    require(
        more <= MS, "LEASE-03", "valid for " + more / MS + " ms longer than the store keeps it");
    long since = backendReportedLossAt();
    require(
        since == Journal.NEVER || machine.lateness(since, scheduler.now()) <= machine.tolerance(),
        "LOSS-02",
        "valid, though the backend has reported it as lost");
  }

  long backendReportedLossAt() {
    return journal.backendReportedLossAt(this);
  }

  /** Records that the lease is valid until then. */
  public void extend(long until) {
    validUntil = Math.max(validUntil, until);
    journal.note(machine, id + " seen to be valid until " + journal.millis(until) + " ms");
    journal.add(new Event.Extended(id, scheduler.now(), until));
  }

  boolean isOpen() {
    return releaseCalledAt == Journal.NEVER && closedAt == Journal.NEVER && lossesSignalled == 0;
  }

  public void recordReleaseCall() {
    if (releaseCalledAt == Journal.NEVER) {
      journal.fairnessCheck.recordRelease(this);
    }
    releaseCalledAt = Math.min(releaseCalledAt, scheduler.now());
    journal.add(new Event.Ended(id, scheduler.now()));
  }

  public void recordRelease(ReleaseOutcome releaseOutcome) {
    outcome = outcome == null ? releaseOutcome : outcome;
    require(
        outcome == releaseOutcome,
        "REL-01",
        "released as " + outcome + ", then as " + releaseOutcome);
    require(
        minHoldUntil <= scheduler.now()
            || (releaseOutcome != ReleaseOutcome.RELEASED
                && releaseOutcome != ReleaseOutcome.HANDED_OFF),
        "LEASE-11",
        "released before its minimum hold was over: " + releaseOutcome);
    journal.note(machine, id + " released: " + releaseOutcome);
  }

  public void addListeners(Lease lease, int behaviour) {
    lease.onEvent(
        event -> {
          if (event instanceof LockEvent.Renewed) {
            atRiskSince = null;
            renewedAt = scheduler.now();
            observeValidity(lease);
          } else if (event instanceof LockEvent.AtRisk) {
            atRiskSince = scheduler.now();
            journal.note(machine, id + " " + event);
          } else if (event instanceof LockEvent.Lost lost) {
            lossesSignalled++;
            lossSignalledAt = scheduler.now();
            reason = String.valueOf(lost.loss().reason());
            journal.add(new Event.Ended(id, scheduler.now()));
            journal.note(machine, id + " lost: " + lost.loss().getMessage());
          } else if (event instanceof LockEvent.Released) {
            releasesReported++;
          }
        });
    if (behaviour == 1) {
      lease.onEvent(
          event -> {
            throw new IllegalArgumentException("a listener that throws");
          });
    } else if (behaviour == 2) {
      lease.onEvent(
          event -> {
            if (!journal.isOver()) {
              machine.block(3_000 * MS);
            }
          });
    }
  }

  @Override
  public String toString() {
    String as = share.isExclusive() ? "" : " as " + describe(share);
    return id + " of \"" + name + "\"" + as + (token == 0 ? "" : ", token " + token);
  }

  /** {@return a short description of the share} */
  public static String describe(Share share) {
    return switch (share.kind()) {
      case EXCLUSIVE -> "lock";
      case READ_WRITE -> share.isWhole() ? "writer" : "reader";
      case SEMAPHORE -> share.weight() + " of " + share.capacity();
    };
  }
}
