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

/** A lease, and what its program saw of it. */
public final class Held {

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

  /** How long it was valid when it was granted. */
  public final long leftAtFirst;

  /** At risk when it was granted, so that the warning came before anyone could listen. */
  final boolean wasWarnedBefore;

  long validUntil;

  /** It may have been valid until then, if the machine was stopped while the lease was read. */
  long validAtMost;

  public long mustEndBy = Journal.NEVER;

  /** A release before leaves the lock taken. */
  public long minHoldUntil;

  /** Whether that does not depend on its client any more, once the release is deferred. */
  boolean keptByStore;

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

  Held(
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
    this.leftAtFirst = lease == null ? 0 : lease.remainingValidity().toNanos();
    this.id = machine.name() + "/" + (journal.leases() + 1);
    this.grantedAt = scheduler.now();
    this.validUntil = before + machine.trueNanos(leftAtFirst);
    this.validAtMost = grantedAt + machine.trueNanos(leftAtFirst);
    this.wasWarnedBefore = lease != null && leftAtFirst <= lease.effectiveTtl().toNanos() / 3;
  }

  /** Until when it was certainly held. */
  long heldUntil() {
    return Math.min(validUntil, Math.min(closedAt, Math.min(releaseCalledAt, lossSignalledAt)));
  }

  /** Whether both cannot be held at once. */
  boolean excludes(Held other) {
    return (long) share.weight() + other.share.weight() > share.capacity();
  }

  /** Fails unless the condition holds. */
  public void require(boolean condition, String rule, String otherwise) {
    if (!condition) {
      scheduler.fail(rule, this + ": " + otherwise);
    }
  }

  /** Records whether it is held, and until when. */
  public boolean look(Lease lease) {
    long before = scheduler.now();
    long left = lease.remainingValidity().toNanos();
    if (left > 0) {
      extend(before + machine.trueNanos(left));
      validAtMost = Math.max(validAtMost, scheduler.now() + machine.trueNanos(left));
      requireKept(before + machine.trueNanos(left));
    }
    return left > 0;
  }

  /** Fails if it is valid for longer than the store keeps it, or after its loss. */
  void requireKept(long until) {
    require(
        until - mustEndBy <= machine.tolerance(),
        "LEASE-04",
        "went on after its lock was taken away or its time");
    long more = until - Math.max(scheduler.now(), journal.keptUntil(this));
    require(
        more <= MS, "LEASE-03", "valid for " + more / MS + " ms longer than the store keeps it");
    long since = reportedByBackendAt();
    require(
        since == Journal.NEVER || machine.lateness(since, scheduler.now()) <= machine.tolerance(),
        "LOSS-02",
        "valid, though the backend has said that it is lost");
  }

  long reportedByBackendAt() {
    return journal.reportedByBackendAt(this);
  }

  /** Records that it is valid until then. */
  public void extend(long until) {
    validUntil = Math.max(validUntil, until);
    journal.note(machine, id + " seen to be valid until " + journal.millis(until) + " ms");
    journal.add(new Event.Extended(id, scheduler.now(), until));
  }

  boolean isOpen() {
    return releaseCalledAt == Journal.NEVER && closedAt == Journal.NEVER && lossesSignalled == 0;
  }

  public void releasing() {
    if (releaseCalledAt == Journal.NEVER) {
      journal.fairnessCheck.recordRelease(this);
    }
    releaseCalledAt = Math.min(releaseCalledAt, scheduler.now());
    journal.add(new Event.Ended(id, scheduler.now()));
  }

  public void released(ReleaseOutcome how) {
    outcome = outcome == null ? how : outcome;
    require(outcome == how, "REL-01", "released as " + outcome + ", then as " + how);
    require(
        minHoldUntil <= scheduler.now()
            || (how != ReleaseOutcome.RELEASED && how != ReleaseOutcome.HANDED_OFF),
        "LEASE-11",
        "released before its minimum hold was over: " + how);
    journal.note(machine, id + " released: " + how);
  }

  public void listen(Lease lease, int behaviour) {
    lease.onEvent(
        event -> {
          if (event instanceof LockEvent.Renewed) {
            atRiskSince = null;
            renewedAt = scheduler.now();
            look(lease);
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
    String as = share.isExclusive() ? "" : " as " + use(share);
    return id + " of \"" + name + "\"" + as + (token == 0 ? "" : ", token " + token);
  }

  /** What a share is, in a word or two. */
  public static String use(Share share) {
    return switch (share.kind()) {
      case EXCLUSIVE -> "lock";
      case READ_WRITE -> share.isWhole() ? "writer" : "reader";
      case SEMAPHORE -> share.weight() + " of " + share.capacity();
    };
  }
}
