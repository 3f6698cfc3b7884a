package dev.interlock.simulation.oracle;

import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Checks the time and the deadline of each request to the store against those of its caller. */
public final class RequestCheck {

  private static final long MS = 1_000_000;

  /** The lateness that is tolerated for the last request of a thread. */
  private static final long MAX_LATENESS = 50 * MS;

  private final Scheduler scheduler;
  private final Map<String, Call> calls = new HashMap<>();
  private final Map<Thread, Call> releases = new HashMap<>();

  RequestCheck(Scheduler scheduler) {
    this.scheduler = scheduler;
  }

  /** An acquisition, identified by its holder's label. */
  private static final class Call {
    final long since;
    final long latest;
    final long minRequestTime;
    long endedAt = Journal.NEVER;

    /**
     * The thread that sent the last request, and its deadline for undoing it; 0 until it undoes it.
     */
    @Nullable Thread lastThread;

    long releaseDeadline;
    int renewals;
    long lateSince;
    int lateGrants;

    Call(long since, long latest, long minRequestTime) {
      this.since = since;
      this.latest = latest;
      this.minRequestTime = minRequestTime;
    }

    /** {@return whether the current thread performs the acquisition} */
    boolean isUnderWayHere() {
      return lastThread == Thread.currentThread() && endedAt == Journal.NEVER;
    }
  }

  /**
   * Records the start of an operation.
   *
   * @param latest the latest end of its last request, by the machine's clock; or NEVER
   * @param minRequestTime the least time for each of its requests, if that much time is left
   */
  public void recordStart(String label, long latest, long minRequestTime) {
    calls.put(label, new Call(scheduler.now(), latest, minRequestTime));
  }

  /** Records that an operation has returned, or that its future was completed. */
  public void recordEnd(String label) {
    Call call = calls.get(label);
    if (call != null && call.endedAt == Journal.NEVER) {
      call.endedAt = scheduler.now();
    }
  }

  /** Checks the time of a request for a lock. */
  public void checkRequest(Machine machine, Claim claim, Deadline deadline) {
    Call call = calls.get(claim.label());
    if (call == null) {
      return;
    }
    call.lastThread = Thread.currentThread();
    call.releaseDeadline = 0;
    long now = scheduler.now();
    if (call.latest != Journal.NEVER) {
      long allowed = call.latest + machine.stoppedTime(call.since, now);
      long overdue = machine.monotonic() - allowed;
      if (overdue > MAX_LATENESS) {
        scheduler.fail(
            "WAIT-02",
            claim + ": requested " + overdue / MS + " ms after its caller's time was over");
      }
      long excess = deadline.nanos() - allowed;
      if (excess > MAX_LATENESS) {
        scheduler.fail(
            "budget",
            claim + ": the request may take " + excess / MS + " ms longer than its caller has");
      }
    }
    long here = machine.monotonic();
    long remaining = call.latest == Journal.NEVER ? Journal.NEVER : call.latest - here;
    long shortfall = Math.min(call.minRequestTime, remaining) - (deadline.nanos() - here);
    if (shortfall > MAX_LATENESS && machine.stoppedTime(call.since, now) == 0) {
      scheduler.fail(
          "budget",
          claim + ": the request has " + shortfall / MS + " ms less than its caller may expect");
    }
    if (call.endedAt != Journal.NEVER
        && machine.lateness(call.endedAt, now) > machine.tolerance()) {
      scheduler.fail("WAIT-08", claim + ": requested after its call had ended");
    }
  }

  /** Counts renewals before the grant of a set. */
  public void recordRenewal(Claim claim) {
    Call call = calls.get(claim.label());
    if (call != null && call.isUnderWayHere()) {
      call.renewals++;
    }
  }

  /** Checks the deadline of a release: all members of a set share the time of one request. */
  public void checkRelease(Claim claim, Deadline deadline) {
    Call call = calls.get(claim.label());
    boolean undoes = call != null && call.isUnderWayHere();
    Call operation = undoes ? call : releases.get(Thread.currentThread());
    if (operation == null) {
      return;
    }
    if (operation.releaseDeadline == 0) {
      operation.releaseDeadline = deadline.nanos();
    } else if (deadline.nanos() - operation.releaseDeadline > MAX_LATENESS) {
      scheduler.fail(
          undoes ? "WAIT-02" : "REL-02",
          "%s: the release of all members may take %d ms longer than that of one"
              .formatted(claim, (deadline.nanos() - operation.releaseDeadline) / MS));
    }
  }

  /** Records that the current thread begins a release. */
  public void recordReleaseStart() {
    releases.put(Thread.currentThread(), new Call(scheduler.now(), Journal.NEVER, 0));
  }

  public void recordReleaseEnd() {
    releases.remove(Thread.currentThread());
  }

  /** {@return how often the operation renewed the members of a set before its grant} */
  public int renewals(String label) {
    Call call = calls.get(label);
    return call == null ? 0 : call.renewals;
  }

  /** Checks that a client whose grants arrive too late asks more and more rarely. */
  public void checkLateGrant(Claim claim) {
    Call call = calls.get(claim.label());
    if (call == null) {
      return;
    }
    if (call.lateGrants++ == 0) {
      call.lateSince = scheduler.now();
    }
    long pause = Math.min(2_000 * MS, claim.ttl().toNanos() / 10) / 2;
    if (call.lateGrants > 15 + (scheduler.now() - call.lateSince) / pause) {
      scheduler.fail(
          "backoff", claim + ": requested too often, " + call.lateGrants + " late grants");
    }
  }
}
