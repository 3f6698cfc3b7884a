package dev.interlock.simulation.workload;

import dev.interlock.LeaderElection.Leader;
import dev.interlock.LockClient;
import dev.interlock.Registration;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.spi.Grant;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A listener of an election that checks its calls. */
public final class Observer implements Consumer<Optional<Leader>> {

  private static final long MS = 1_000_000;

  private final ProgramContext world;
  private final Machine machine;
  private final String name;
  private final int behaviour;
  private @Nullable Registration registration;

  private Optional<Leader> last = Optional.empty();

  /** The number of the last leader's grant; 0 if nobody leads, negative before the first call. */
  private long lastGrant = -1;

  /** The lowest number of a grant whose leader may still be reported. */
  private long minGrant;

  private boolean calling;
  private boolean closed;

  /**
   * Creates an observer that does not observe yet.
   *
   * @param behaviour 1 for a listener that throws, 2 for one that blocks
   */
  public Observer(ProgramContext world, Machine machine, String name, int behaviour) {
    this.world = world;
    this.machine = machine;
    this.name = name;
    this.behaviour = behaviour;
  }

  public Observer begin(LockClient client) {
    minGrant = world.isTokenOfStore() ? world.journal().holderCheck.newestGrant(name) : 0;
    registration = client.election(name).observe(this);
    return this;
  }

  public void close() {
    if (registration != null) {
      registration.close();
    }
    closed = true;
  }

  private void require(boolean condition, String message) {
    if (!condition) {
      world.fail("ELECT-03", message + ": " + this);
    }
  }

  @Override
  public void accept(Optional<Leader> leader) {
    long grant =
        leader.isEmpty()
            ? 0
            : leader.get().fencingToken().orElse(Grant.LEASES_PER_GRANT) / Grant.LEASES_PER_GRANT;
    require(!closed, "a listener was called after it was closed");
    require(!calling, "a listener was called again during a call");
    require(lastGrant < 0 || !leader.equals(last), "a listener was called twice with " + leader);
    require(
        grant == 0 || grant >= minGrant,
        "a listener was called with " + grant + " after a later leader");
    if (grant != 0 && world.isTokenOfStore()) {
      minGrant = grant + 1;
    }
    last = leader;
    lastGrant = grant;
    world.journal().note(machine, "call of " + this);
    if (behaviour == 1) {
      throw new IllegalArgumentException("an observer that throws");
    } else if (behaviour == 2) {
      calling = true;
      machine.block(1_000 * MS);
      calling = false;
    }
  }

  boolean hasBeenCalled() {
    return lastGrant >= 0;
  }

  /** {@return whether the last reported leader has this token; 0 for no leader} */
  public boolean isInformedOf(String election, long token) {
    return !election.equals(name)
        || (world.isTokenOfStore()
            ? lastGrant == token / Grant.LEASES_PER_GRANT
            : token == 0 ? lastGrant == 0 : lastGrant > 0);
  }

  @Override
  public String toString() {
    return "observer of \"" + name + "\" at " + machine.name() + ", last called with " + lastGrant;
  }
}
