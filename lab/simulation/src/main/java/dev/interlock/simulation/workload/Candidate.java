package dev.interlock.simulation.workload;

import dev.interlock.LeaderElection;
import dev.interlock.Lease;
import dev.interlock.LockException;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.oracle.Journal;
import dev.interlock.simulation.oracle.ObservedLease;
import dev.interlock.simulation.workload.Plan.Ending;
import dev.interlock.simulation.workload.Plan.LeaseOptions;
import dev.interlock.simulation.workload.Plan.Op;
import dev.interlock.simulation.workload.Plan.Treatment;
import dev.interlock.spi.Share;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A candidate of an election, with its work as the leader and the checks of its guarantees. */
public final class Candidate implements LeaderElection.LeaderWork {

  private static final long MS = 1_000_000;

  /** Holds a lease as its program does; returns false if it was lost before the time was over. */
  interface Holding {
    boolean hold(Op op, Lease lease, List<ObservedLease> leases) throws InterruptedException;
  }

  private final ProgramContext world;
  private final Journal journal;
  private final Machine machine;
  private final Op op;
  private final String label;
  private final long maxHold;
  private final Holding holding;
  private final BooleanSupplier isClientOpen;

  private LeaderElection.@Nullable Candidacy candidacy;

  /** The leadership whose work is in progress. */
  private @Nullable ObservedLease current;

  private int calls;

  private long campaignsSince;

  /** The time since which it leads without a call of its work. */
  private long idleSince = Journal.NEVER;

  private boolean withdrawn;

  /** The time of the first call of close(); all calls wait until the same time. */
  private long closingSince = Journal.NEVER;

  private boolean closed;

  /**
   * Creates a candidate that does not stand yet.
   *
   * @param maxHold the longest time that it may lead; zero if there is no limit
   */
  Candidate(
      ProgramContext world,
      Machine machine,
      Op op,
      String label,
      long maxHold,
      Holding holding,
      BooleanSupplier isClientOpen) {
    this.world = world;
    this.journal = world.journal();
    this.machine = machine;
    this.op = op;
    this.label = label;
    this.maxHold = maxHold;
    this.holding = holding;
    this.isClientOpen = isClientOpen;
  }

  private void fail(String rule, String what) {
    world.fail(rule, label + ": " + what);
  }

  /** Stands until the work has been called several times, or the client is closed. */
  void stand(LeaderElection election) throws InterruptedException {
    campaignsSince = world.now();
    LeaderElection.Candidacy started = election.start(this);
    candidacy = started;
    long maxCalls = 1 + op.timeout() % 3;
    try {
      while (calls < maxCalls && !withdrawn && isClientOpen.getAsBoolean()) {
        checkProgress(started);
        machine.pause(50 * MS);
      }
    } finally {
      if (op.ending() == Ending.ELSEWHERE) {
        machine.run("closer", () -> close(started));
      }
      close(started);
      if (op.ending() == Ending.TWICE) {
        close(started);
      }
    }
  }

  private void checkProgress(LeaderElection.Candidacy started) {
    if (started.failure().orElse(null) instanceof LockException problem) {
      world.checkUnavailability(op, problem);
    }
    if (!started.isLeader() || current != null) {
      idleSince = Journal.NEVER;
    } else if (idleSince == Journal.NEVER) {
      idleSince = world.now();
    } else if (machine.lateness(idleSince, world.now()) > machine.tolerance()) {
      fail("ELECT-05", "leads, but its work is not called");
    }
  }

  private void close(LeaderElection.Candidacy started) {
    long from = world.now();
    closingSince = Math.min(closingSince, from);
    recordWithdrawal();
    started.close();
    closed = true;
    long ttl = world.plan().setting().ttl();
    long closeLimit =
        (op.options() == Plan.LeaseOptions.SHORT_TTL ? ttl / 4 : ttl)
            + world.plan().setting().requestTimeout();
    if (current != null && world.now() - closingSince + MS < machine.trueNanos(closeLimit)) {
      fail("ELECT-05", "closing did not wait for the work");
    }
    machine.requireInTime(
        "ELECT-05", label + ": close()", Math.max(from, campaignsSince), closeLimit);
  }

  private void recordWithdrawal() {
    withdrawn = true;
    if (current != null) {
      current.recordReleaseCall();
    }
  }

  @Override
  public void lead(Lease lease) throws InterruptedException {
    if (current != null) {
      fail("ELECT-01", "its work is called before the last call has ended");
    }
    if (closed) {
      fail("ELECT-05", "its work is called after it was closed");
    }
    idleSince = Journal.NEVER;
    ObservedLease leadership =
        journal.recordGrant(
            machine, lease.name(), Share.EXCLUSIVE, lease.fencingToken(), campaignsSince, lease);
    current = leadership;
    leadership.renews = op.options() != LeaseOptions.NOT_RENEWED;
    if (maxHold > 0) {
      leadership.mustEndBy = world.now() + machine.trueNanos(maxHold);
    }
    leadership.require(
        leadership.initialValidity > 0
            || withdrawn
            || !isClientOpen.getAsBoolean()
            || machine.stoppedTime(campaignsSince, world.now()) > 0,
        "ELECT-01",
        "lost when the work is called");
    leadership.addListeners(lease, op.listener());
    try {
      work(lease, leadership);
    } finally {
      leadership.recordReleaseCall();
      journal.holderCheck.checkLeaderWork(leadership);
      current = null;
      campaignsSince = world.now();
      calls++;
    }
  }

  private void work(Lease lease, ObservedLease leadership) throws InterruptedException {
    try {
      if (!holding.hold(op, lease, List.of(leadership))) {
        awaitInterrupt(leadership);
        return;
      }
    } catch (InterruptedException e) {
      leadership.require(!lease.isHeld(), "ELECT-02", "leads, but its work was interrupted");
      leadership.recordReleaseCall();
      if (op.misuse()) {
        machine.block(op.timeout());
      }
      if (op.treatment() == Treatment.FAIL) {
        throw e;
      }
      return;
    }
    switch (op.treatment()) {
      case AWAIT, COMPLETE -> {}
      case FAIL -> throw new IllegalArgumentException("work that fails");
      case TIME_OUT -> {
        leadership.recordReleaseCall();
        leadership.recordRelease(lease.release());
      }
      case CANCEL -> {
        recordWithdrawal();
        if (candidacy != null) {
          candidacy.close();
          leadership.require(!lease.isHeld(), "ELECT-05", "held after its candidate has withdrawn");
        }
      }
    }
  }

  /** Waits for the interrupt after a loss, and fails if it does not come. */
  private void awaitInterrupt(ObservedLease leadership) throws InterruptedException {
    long from = world.now();
    while (machine.lateness(from, world.now()) <= machine.tolerance()) {
      machine.pause(50 * MS);
    }
    leadership.require(false, "ELECT-02", "not held, but its work was not interrupted");
  }
}
