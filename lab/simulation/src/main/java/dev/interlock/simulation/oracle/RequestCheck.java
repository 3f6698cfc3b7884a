package dev.interlock.simulation.oracle;

import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Checks when and for how long a client asks the store, for the caller and the time that it has.
 */
public final class RequestCheck {

  private static final long MS = 1_000_000;

  /** How late a thread may send its last request. */
  private static final long ASKED_LATE = 50 * MS;

  private final Scheduler scheduler;
  private final Map<String, Call> calls = new HashMap<>();
  private final Map<Thread, Call> releases = new HashMap<>();

  RequestCheck(Scheduler scheduler) {
    this.scheduler = scheduler;
  }

  /** An acquisition, which the store knows by its holder's label. */
  private static final class Call {
    final long since;
    final long latest;
    final long least;
    long endedAt = Journal.NEVER;

    /**
     * The thread that asked last, and the deadline for giving up what it was granted; 0 before
     * that.
     */
    @Nullable Thread asker;

    long givenUpUntil;
    int renewals;
    long lateSince;
    int lateGrants;

    Call(long since, long latest, long least) {
      this.since = since;
      this.latest = latest;
      this.least = least;
    }

    /** Whether the current thread performs it. */
    boolean isUnderWayHere() {
      return asker == Thread.currentThread() && endedAt == Journal.NEVER;
    }
  }

  /**
   * Records that an operation begins.
   *
   * @param latest when its last request must have ended, by the machine's clock; or never
   * @param least the least time for each of its requests, if that much is left
   */
  public void begins(String label, long latest, long least) {
    calls.put(label, new Call(scheduler.now(), latest, least));
  }

  /** Records that it has returned, or that its future was completed. */
  public void ends(String label) {
    Call call = calls.get(label);
    if (call != null && call.endedAt == Journal.NEVER) {
      call.endedAt = scheduler.now();
    }
  }

  /** Checks the time of a request for a lock. */
  public void asks(Machine machine, Claim claim, Deadline deadline) {
    Call call = calls.get(claim.label());
    if (call == null) {
      return;
    }
    call.asker = Thread.currentThread();
    call.givenUpUntil = 0;
    long now = scheduler.now();
    if (call.latest != Journal.NEVER) {
      long allowed = call.latest + machine.stopped(call.since, now);
      long over = machine.monotonic() - allowed;
      if (over > ASKED_LATE) {
        scheduler.fail(
            "WAIT-02", claim + ": asked for " + over / MS + " ms after its caller's time was over");
      }
      long beyond = deadline.nanos() - allowed;
      if (beyond > ASKED_LATE) {
        scheduler.fail(
            "budget",
            claim + ": may be asked for " + beyond / MS + " ms longer than its caller has");
      }
    }
    long here = machine.monotonic();
    long left = call.latest == Journal.NEVER ? Journal.NEVER : call.latest - here;
    long less = Math.min(call.least, left) - (deadline.nanos() - here);
    if (less > ASKED_LATE && machine.stopped(call.since, now) == 0) {
      scheduler.fail(
          "budget", claim + ": is asked for " + less / MS + " ms less than its caller may expect");
    }
    if (call.endedAt != Journal.NEVER
        && machine.lateness(call.endedAt, now) > machine.tolerance()) {
      scheduler.fail("WAIT-08", claim + ": asked for after its end");
    }
  }

  /** Counts renewals before the grant of a set. */
  public void renews(Claim claim) {
    Call call = calls.get(claim.label());
    if (call != null && call.isUnderWayHere()) {
      call.renewals++;
    }
  }

  /** Checks the time of a release: all of a set share the time of one request. */
  public void releases(Claim claim, Deadline deadline) {
    Call call = calls.get(claim.label());
    boolean givesUp = call != null && call.isUnderWayHere();
    Call whole = givesUp ? call : releases.get(Thread.currentThread());
    if (whole == null) {
      return;
    }
    if (whole.givenUpUntil == 0) {
      whole.givenUpUntil = deadline.nanos();
    } else if (deadline.nanos() - whole.givenUpUntil > ASKED_LATE) {
      scheduler.fail(
          givesUp ? "WAIT-02" : "REL-02",
          "%s: all may be given up for %d ms longer than one"
              .formatted(claim, (deadline.nanos() - whole.givenUpUntil) / MS));
    }
  }

  /** Records that the current thread begins to release a lease. */
  public void beginsRelease() {
    releases.put(Thread.currentThread(), new Call(scheduler.now(), Journal.NEVER, 0));
  }

  public void endsRelease() {
    releases.remove(Thread.currentThread());
  }

  /** How often the operation has renewed the members of a set before its grant. */
  public int renewals(String label) {
    Call call = calls.get(label);
    return call == null ? 0 : call.renewals;
  }

  /** Checks that a client whose grants arrive too late asks less and less often. */
  public void grantedLate(Claim claim) {
    Call call = calls.get(claim.label());
    if (call == null) {
      return;
    }
    if (call.lateGrants++ == 0) {
      call.lateSince = scheduler.now();
    }
    long pause = Math.min(2_000 * MS, claim.ttl().toNanos() / 10) / 2;
    if (call.lateGrants > 15 + (scheduler.now() - call.lateSince) / pause) {
      scheduler.fail("backoff", claim + ": asked for again and again, " + call.lateGrants);
    }
  }
}
