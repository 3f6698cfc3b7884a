package dev.interlock.simulation.oracle;

import dev.interlock.LockState;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.Grant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Checks that what others see of a lease agrees with what its holder was promised. */
public final class HolderCheck {

  private static final long MS = 1_000_000;

  private final Scheduler scheduler;
  private final List<Held> leases;
  private final boolean undisturbed;

  HolderCheck(Scheduler scheduler, List<Held> leases, boolean undisturbed) {
    this.scheduler = scheduler;
    this.leases = leases;
    this.undisturbed = undisturbed;
  }

  private List<Held> heldSince(String name, long from) {
    return leases.stream()
        .filter(held -> held.name.equals(name) && held.grantedAt <= from && held.isOpen())
        .toList();
  }

  /**
   * Fails if a lease that is certainly held is not shown.
   *
   * @param tokens whether the tokens shown are those of leases
   */
  public void inspected(LockState state, long from, boolean tokens) {
    Set<Long> shown = new HashSet<>();
    for (LockState.Holder holder : state.holders()) {
      shown.add(holder.fencingToken().orElse(0) / Grant.LEASES_PER_GRANT);
    }
    for (Held held : heldSince(state.name(), from)) {
      boolean isCertain = held.validUntil > scheduler.now() && !held.isView && !held.isOfSet;
      boolean isShown =
          tokens ? shown.contains(held.token / Grant.LEASES_PER_GRANT) : state.isHeld();
      held.require(!isCertain || isShown, "ADMIN-01", "held, but not shown: " + state);
    }
  }

  /** The number of the last grant of a name that a program knows. */
  public long newestGrant(String name) {
    return leases.stream()
        .filter(held -> held.name.equals(name))
        .mapToLong(held -> held.token / Grant.LEASES_PER_GRANT)
        .max()
        .orElse(0);
  }

  /** Fails if another leader began before the work of one that has not lost its lease had ended. */
  public void worked(Held held) {
    boolean released = held.lossesSignalled > 0 || held.outcome != null;
    for (Held other : leases) {
      held.require(
          !undisturbed
              || released
              || !held.renews
              || !other.name.equals(held.name)
              || other.grantedAt <= held.grantedAt,
          "ELECT-05",
          other + " was granted before the work had ended");
    }
  }

  /** The holder may rely on its lease for as long as it was promised just before, no longer. */
  public void forced(String name, long from, long most) {
    for (Held held : heldSince(name, from)) {
      held.mustEndBy = Math.min(held.mustEndBy, scheduler.now() + most);
    }
  }

  /** Fails if a waiter got nothing although no client held the lock. */
  public void requireHolder(Machine machine, String name, long from) {
    long free = from;
    for (Held held : leases) {
      if (held.name.equals(name)) {
        long end = Math.min(held.releaseCalledAt, held.lossSignalledAt);
        free = Math.max(free, held.isOpen() ? Journal.NEVER : end);
      }
    }
    if (free != Journal.NEVER && scheduler.now() - free > 500 * MS) {
      scheduler.fail(
          "WAIT-03",
          "%s got no \"%s\", which no client held for %d ms"
              .formatted(machine.name(), name, (scheduler.now() - free) / MS));
    }
  }
}
