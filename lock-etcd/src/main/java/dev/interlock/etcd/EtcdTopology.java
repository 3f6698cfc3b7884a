package dev.interlock.etcd;

import static dev.interlock.FailureModel.Guarantee.EXCLUSION_AND_TOKENS;
import static dev.interlock.FailureModel.Guarantee.NOTHING;
import static dev.interlock.FailureModel.Guarantee.NOT_APPLICABLE;
import static dev.interlock.FailureModel.Guarantee.TOKENS_ONLY;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.Fault;
import dev.interlock.spi.BackendInfoBuilder;
import java.time.Duration;
import java.util.EnumSet;

/**
 * Describes the backend by the number of members.
 *
 * <p>With any number of members, confirmed data is on the disks of a majority, and etcd measures
 * leases by a monotonic clock. So exclusion survives restarts and clock steps. Nothing is promised
 * for a member that comes back under its old identity without its data: it has forgotten its votes,
 * and a single member counts revisions, which are the tokens, from 1 again.
 *
 * <p>A suspended leader that resumes may, before it learns of its successor, end leases that the
 * successor has renewed (etcd issues 12528 and 15247; fixed by pull request 16822, which was also
 * backported to 3.4 and 3.5). While such versions are in use, exclusion is not promised for a
 * cluster with a suspended member. A single member has no successor.
 */
final class EtcdTopology {

  /** The TTL to which etcd raises shorter ones with its default election time-out of 1 s. */
  static final Duration MIN_TTL = Duration.ofSeconds(2);

  // etcd checks for expired leases every half second, and ends them one after the other.
  private static final Duration GRANULARITY = Duration.ofSeconds(1);

  private EtcdTopology() {}

  /**
   * Describes the backend.
   *
   * @param members the number of members of the cluster; fewer than three tolerate no failure
   */
  static BackendInfo info(long members) {
    boolean replicated = members >= 3;
    EnumSet<Capability> capabilities =
        EnumSet.of(
            Capability.FENCING,
            Capability.FIFO,
            Capability.SINGLE_WAKEUP,
            Capability.REVOKE,
            Capability.LIST,
            Capability.READ_WRITE,
            Capability.SEMAPHORE);
    if (replicated) {
      capabilities.add(Capability.REPLICATED);
    }
    return BackendInfoBuilder.of(
            "etcd",
            "a queue of keys on leases, by creation revision; replicated with three members or"
                + " more")
        .capabilities(capabilities)
        .granularity(GRANULARITY)
        .minTtl(MIN_TTL)
        .guarantee(EXCLUSION_AND_TOKENS, Fault.CLIENT_KILLED, Fault.CLIENT_STOPPED)
        .guarantee(EXCLUSION_AND_TOKENS, Fault.CONNECTION_LOST, Fault.PARTITION)
        .guarantee(EXCLUSION_AND_TOKENS, Fault.SERVER_RESTARTED, Fault.SERVER_CLOCK_STEPPED)
        .guarantee(EXCLUSION_AND_TOKENS, Fault.MACHINE_SUSPENDED)
        .guarantee(NOTHING, Fault.SERVER_RESTARTED_EMPTY)
        .guarantee(NOT_APPLICABLE, Fault.ASYNC_FAILOVER, Fault.EVICTION)
        .guarantee(TOKENS_ONLY, Fault.FORCED_RELEASE)
        .guarantee(replicated ? TOKENS_ONLY : EXCLUSION_AND_TOKENS, Fault.SERVER_STOPPED)
        .guarantee(
            replicated ? EXCLUSION_AND_TOKENS : NOT_APPLICABLE,
            Fault.MINORITY_LOST,
            Fault.LEADER_CHANGED)
        .build();
  }
}
