package dev.interlock.simulation.workload;

import dev.interlock.LeaderElection;
import dev.interlock.Lease;
import dev.interlock.LockException;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.oracle.Held;
import dev.interlock.simulation.oracle.Journal;
import dev.interlock.simulation.workload.Plan.Ending;
import dev.interlock.simulation.workload.Plan.Keeping;
import dev.interlock.simulation.workload.Plan.Op;
import dev.interlock.simulation.workload.Plan.Treatment;
import dev.interlock.spi.Share;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A candidacy of a program: what it does as the leader, and the checks of its guarantees. */
public final class Candidate implements LeaderElection.LeaderWork {

  private static final long MS = 1_000_000;

  /** Holds a lease as its program does; false if it was lost before the time is over. */
  interface Holding {
    boolean hold(Op op, Lease lease, List<Held> held) throws InterruptedException;
  }

  private final Surroundings world;
  private final Journal journal;
  private final Machine machine;
  private final Op op;
  private final String label;
  private final long maxHold;
  private final Holding holding;
  private final BooleanSupplier isClientOpen;

  private LeaderElection.@Nullable Candidacy candidacy;

  /** While the work is in progress. */
  private @Nullable Held held;

  private int calls;

  /** Since when it campaigns. */
  private long since;

  /** Since when it has been seen to lead without its work being called. */
  private long idleSince = Journal.NEVER;

  private boolean withdrawn;

  /** When it was closed first; all closes wait until the same time. */
  private long closingSince = Journal.NEVER;

  private boolean closed;

  /**
   * Makes one that does not stand yet.
   *
   * @param maxHold how long it may lead; zero if there is no limit
   */
  Candidate(
      Surroundings world,
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
    since = world.now();
    LeaderElection.Candidacy standing = election.start(this);
    candidacy = standing;
    long most = 1 + op.patience() % 3;
    try {
      while (calls < most && !withdrawn && isClientOpen.getAsBoolean()) {
        look(standing);
        machine.pause(50 * MS);
      }
    } finally {
      if (op.ending() == Ending.ELSEWHERE) {
        machine.run("closer", () -> close(standing));
      }
      close(standing);
      if (op.ending() == Ending.TWICE) {
        close(standing);
      }
    }
  }

  private void look(LeaderElection.Candidacy standing) {
    if (standing.failure().orElse(null) instanceof LockException problem) {
      world.unavailable(op, problem);
    }
    if (!standing.isLeader() || held != null) {
      idleSince = Journal.NEVER;
    } else if (idleSince == Journal.NEVER) {
      idleSince = world.now();
    } else if (machine.lateness(idleSince, world.now()) > machine.tolerance()) {
      fail("ELECT-05", "leads, but its work is not called");
    }
  }

  private void close(LeaderElection.Candidacy standing) {
    long from = world.now();
    closingSince = Math.min(closingSince, from);
    withdraws();
    standing.close();
    closed = true;
    long ttl = world.plan().setting().ttl();
    long patience =
        (op.keeping() == Plan.Keeping.BRIEF ? ttl / 4 : ttl)
            + world.plan().setting().requestTimeout();
    if (held != null && world.now() - closingSince + MS < machine.trueNanos(patience)) {
      fail("ELECT-05", "closing did not wait for the work");
    }
    machine.requireInTime("ELECT-05", label + ": close()", Math.max(from, since), patience);
  }

  private void withdraws() {
    withdrawn = true;
    if (held != null) {
      held.releasing();
    }
  }

  @Override
  public void lead(Lease lease) throws InterruptedException {
    if (held != null) {
      fail("ELECT-01", "its work is called before the last call has ended");
    }
    if (closed) {
      fail("ELECT-05", "its work is called after it was closed");
    }
    idleSince = Journal.NEVER;
    Held mine =
        journal.granted(machine, lease.name(), Share.EXCLUSIVE, lease.fencingToken(), since, lease);
    held = mine;
    mine.renews = op.keeping() != Keeping.FIXED;
    if (maxHold > 0) {
      mine.mustEndBy = world.now() + machine.trueNanos(maxHold);
    }
    mine.require(
        mine.leftAtFirst > 0
            || withdrawn
            || !isClientOpen.getAsBoolean()
            || machine.stopped(since, world.now()) > 0,
        "ELECT-01",
        "lost when the work is called");
    mine.listen(lease, op.listener());
    try {
      work(lease, mine);
    } finally {
      mine.releasing();
      journal.holderCheck.worked(mine);
      held = null;
      since = world.now();
      calls++;
    }
  }

  private void work(Lease lease, Held mine) throws InterruptedException {
    try {
      if (!holding.hold(op, lease, List.of(mine))) {
        awaitInterrupt(mine);
        return;
      }
    } catch (InterruptedException e) {
      mine.require(!lease.isHeld(), "ELECT-02", "leads, but its work was interrupted");
      mine.releasing();
      if (op.again()) {
        machine.block(op.patience());
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
        mine.releasing();
        mine.released(lease.release());
      }
      case CANCEL -> {
        withdraws();
        if (candidacy != null) {
          candidacy.close();
          mine.require(!lease.isHeld(), "ELECT-05", "held, though its candidate has withdrawn");
        }
      }
    }
  }

  /** Fails unless the work, whose lease is not held, is interrupted. */
  private void awaitInterrupt(Held mine) throws InterruptedException {
    long from = world.now();
    while (machine.lateness(from, world.now()) <= machine.tolerance()) {
      machine.pause(50 * MS);
    }
    mine.require(false, "ELECT-02", "not held, but its work was not interrupted");
  }
}
