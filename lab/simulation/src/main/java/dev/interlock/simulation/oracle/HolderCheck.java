package dev.interlock.simulation.oracle;

import dev.interlock.LockState;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.Grant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Checks that other clients see leases as their holders do. */
public final class HolderCheck {

  private static final long MS = 1_000_000;

  private final Scheduler scheduler;
  private final List<ObservedLease> leases;
  private final boolean undisturbed;

  HolderCheck(Scheduler scheduler, List<ObservedLease> leases, boolean undisturbed) {
    this.scheduler = scheduler;
    this.leases = leases;
    this.undisturbed = undisturbed;
  }

  private List<ObservedLease> openSince(String name, long from) {
    return leases.stream()
        .filter(
            observed ->
                observed.name.equals(name) && observed.grantedAt <= from && observed.isOpen())
        .toList();
  }

  /**
   * Fails if an inspection does not show a lease that is certainly held.
   *
   * @param tokens whether the tokens that it shows are those of leases
   */
  public void checkInspection(LockState state, long from, boolean tokens) {
    Set<Long> shown = new HashSet<>();
    for (LockState.Holder holder : state.holders()) {
      shown.add(holder.fencingToken().orElse(0) / Grant.LEASES_PER_GRANT);
    }
    for (ObservedLease observed : openSince(state.name(), from)) {
      boolean isCertain =
          observed.validUntil > scheduler.now() && !observed.isView && !observed.isOfSet;
      boolean isShown =
          tokens ? shown.contains(observed.token / Grant.LEASES_PER_GRANT) : state.isHeld();
      observed.require(!isCertain || isShown, "ADMIN-01", "held, but not shown: " + state);
    }
  }

  /** {@return the number of the last grant of a name that a program has} */
  public long newestGrant(String name) {
    return leases.stream()
        .filter(observed -> observed.name.equals(name))
        .mapToLong(observed -> observed.token / Grant.LEASES_PER_GRANT)
        .max()
        .orElse(0);
  }

  /** Fails if another leader was granted before the work of a leader without a loss had ended. */
  public void checkLeaderWork(ObservedLease observed) {
    boolean released = observed.lossesSignalled > 0 || observed.outcome != null;
    for (ObservedLease other : leases) {
      observed.require(
          !undisturbed
              || released
              || !observed.renews
              || !other.name.equals(observed.name)
              || other.grantedAt <= observed.grantedAt,
          "ELECT-05",
          other + " was granted before the work had ended");
    }
  }

  /** Records a forced release: leases may be relied on for this long at most. */
  public void recordForcedRelease(String name, long from, long maxNanos) {
    for (ObservedLease observed : openSince(name, from)) {
      observed.mustEndBy = Math.min(observed.mustEndBy, scheduler.now() + maxNanos);
    }
  }

  /** Fails if a wait ended without a lease although no client held the lock. */
  public void requireHolder(Machine machine, String name, long from) {
    long freeSince = from;
    for (ObservedLease observed : leases) {
      if (observed.name.equals(name)) {
        long end = Math.min(observed.releaseCalledAt, observed.lossSignalledAt);
        freeSince = Math.max(freeSince, observed.isOpen() ? Journal.NEVER : end);
      }
    }
    if (freeSince != Journal.NEVER && scheduler.now() - freeSince > 500 * MS) {
      scheduler.fail(
          "WAIT-03",
          "%s did not acquire \"%s\", which no client held for %d ms"
              .formatted(machine.name(), name, (scheduler.now() - freeSince) / MS));
    }
  }
}
