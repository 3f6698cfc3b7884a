package dev.interlock.zookeeper;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.spi.BackendInfoBuilder;
import java.util.EnumSet;
import java.util.Set;

/** Describes the backend by the number of servers that the client knows. */
final class ZooKeeperTopology {

  private ZooKeeperTopology() {}

  /**
   * Describes the backend.
   *
   * @param servers the number of addresses that the client has; fewer than three tolerate no
   *     failure
   */
  static BackendInfo info(int servers, ZooKeeperSettings settings) {
    boolean replicated = servers >= 3;
    Set<Capability> capabilities =
        EnumSet.of(
            Capability.FENCING,
            Capability.FIFO,
            Capability.SINGLE_WAKEUP,
            Capability.LIST,
            Capability.READ_WRITE,
            Capability.SEMAPHORE);
    if (replicated) {
      capabilities.add(Capability.REPLICATED);
    }
    return BackendInfoBuilder.of(
            Failures.BACKEND,
            replicated
                ? "a queue of ephemeral nodes on a ZooKeeper ensemble"
                : "a queue of ephemeral nodes on one ZooKeeper server")
        .capabilities(capabilities)
        .granularity( // Sessions end at the next tick.
            settings.tickTime())
        .minTtl(settings.minSessionTimeout())
        .guarantee(Guarantee.EXCLUSION_AND_TOKENS, Fault.CLIENT_KILLED, Fault.CLIENT_STOPPED)
        .guarantee(Guarantee.EXCLUSION_AND_TOKENS, Fault.CONNECTION_LOST, Fault.PARTITION)
        .guarantee(Guarantee.EXCLUSION_AND_TOKENS, Fault.SERVER_STOPPED, Fault.SERVER_RESTARTED)
        // Servers count ticks by their monotonic clocks.
        .guarantee(
            Guarantee.EXCLUSION_AND_TOKENS, Fault.SERVER_CLOCK_STEPPED, Fault.MACHINE_SUSPENDED)
        .guarantee(
            replicated ? Guarantee.EXCLUSION_AND_TOKENS : Guarantee.NOT_APPLICABLE,
            Fault.MINORITY_LOST,
            Fault.LEADER_CHANGED)
        // Transaction ids only grow, but a deleted node lets the next waiter in.
        .guarantee(Guarantee.TOKENS_ONLY, Fault.FORCED_RELEASE)
        .guarantee(Guarantee.NOTHING, Fault.SERVER_RESTARTED_EMPTY)
        .guarantee(Guarantee.NOT_APPLICABLE, Fault.ASYNC_FAILOVER, Fault.EVICTION)
        .build();
  }
}
