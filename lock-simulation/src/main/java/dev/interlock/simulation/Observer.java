package dev.interlock.simulation;

import dev.interlock.Election.Leader;
import dev.interlock.LockClient;
import dev.interlock.Subscription;
import dev.interlock.spi.Grant;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A listener of an election, and the check of what it sees. */
final class Observer implements Consumer<Optional<Leader>> {

  private static final long MS = 1_000_000;

  private final World world;
  private final Machine machine;
  private final String name;
  private final int behaviour;
  private @Nullable Subscription subscription;

  private Optional<Leader> last = Optional.empty();

  /** The number of its grant; negative before the first call, 0 if nobody leads. */
  private long told = -1;

  /** No leader with a lower number is told of from now on. */
  private long least;

  private boolean calling;
  private boolean closed;

  /**
   * Makes one that does not observe yet.
   *
   * @param behaviour 1 throws, 2 blocks
   */
  Observer(World world, Machine machine, String name, int behaviour) {
    this.world = world;
    this.machine = machine;
    this.name = name;
    this.behaviour = behaviour;
  }

  Observer begin(LockClient client) {
    least = world.isTokenOfStore() ? world.journal().newestGrant(name) : 0;
    subscription = client.election(name).observe(this);
    return this;
  }

  void close() {
    if (subscription != null) {
      subscription.close();
    }
    closed = true;
  }

  private void require(boolean condition, String otherwise) {
    if (!condition) {
      world.fail("ELECT-03", this + " " + otherwise);
    }
  }

  @Override
  public void accept(Optional<Leader> leader) {
    long now =
        leader.isEmpty()
            ? 0
            : leader.get().fencingToken().orElse(Grant.LEASES_PER_GRANT) / Grant.LEASES_PER_GRANT;
    require(!closed, "is called after its end");
    require(!calling, "is called twice at once");
    require(told < 0 || !leader.equals(last), "is told of " + leader + " twice");
    require(now == 0 || now >= least, "is called with " + now + ", after a later leader");
    if (now != 0 && world.isTokenOfStore()) {
      least = now + 1;
    }
    last = leader;
    told = now;
    world.journal().note(machine, this + " is told");
    if (behaviour == 1) {
      throw new IllegalArgumentException("an observer that throws");
    } else if (behaviour == 2) {
      calling = true;
      Journal.blockFor(machine, 1_000 * MS);
      calling = false;
    }
  }

  boolean isToldAnything() {
    return told >= 0;
  }

  /** Whether it was last told of the leader with this token; 0 for none. */
  boolean knows(String election, long token) {
    return !election.equals(name)
        || (world.isTokenOfStore()
            ? told == token / Grant.LEASES_PER_GRANT
            : token == 0 ? told == 0 : told > 0);
  }

  @Override
  public String toString() {
    return "an observer of \"" + name + "\" at " + machine.name() + ", which knows " + told;
  }
}
