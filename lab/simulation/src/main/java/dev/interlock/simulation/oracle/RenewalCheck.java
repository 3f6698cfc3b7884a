package dev.interlock.simulation.oracle;

import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.Grant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checks that a renewal that returned was confirmed: the store has answered a renewal of the grant
 * that was requested after the call began. Leases that share a grant also share its confirmations.
 */
public final class RenewalCheck {

  private static final long MS = 1_000_000;

  private final Scheduler scheduler;

  /** The time of the last confirmed request, by machine, name and number of the grant. */
  private final Map<List<Object>, Long> confirmedRequests = new HashMap<>();

  RenewalCheck(Scheduler scheduler) {
    this.scheduler = scheduler;
  }

  /** Records that the store has confirmed a renewal that was requested at the given time. */
  public void confirm(Machine machine, Grant grant, long requestedAt) {
    confirmedRequests.merge(
        List.of(machine.name(), grant.claim().name(), grant.token()), requestedAt, Math::max);
  }

  /** Fails if none of the lease's renewals that were requested since then has been confirmed. */
  public void requireConfirmed(ObservedLease lease, long from) {
    Long last =
        confirmedRequests.get(
            List.of(lease.machine.name(), lease.name, lease.token / Grant.LEASES_PER_GRANT));
    if (last == null || last < from) {
      String none =
          last == null ? "none" : "none since " + (from - last) / MS + " ms before the call";
      lease.require(
          false,
          "LEASE-02",
          "a renewal returned after %d ms, though the store has confirmed %s"
              .formatted((scheduler.now() - from) / MS, none));
    }
  }
}
