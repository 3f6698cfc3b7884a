package dev.interlock.redis;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.spi.BackendInfoBuilder;
import java.time.Duration;
import java.util.function.UnaryOperator;

/** The kinds of deployments, and the promises of a lock on each. */
enum RedisTopology {
  SINGLE("redis", "one key per lock on one Redis", RedisTopology::single),
  CLUSTER(
      "redis-cluster",
      "one key per lock on a primary of a Redis Cluster",
      RedisTopology::replicated),
  SENTINEL(
      "redis-sentinel",
      "one key per lock on the primary of a Sentinel group",
      RedisTopology::replicated);

  // Immutable, though not annotated as such.
  @SuppressWarnings("ImmutableEnumChecker")
  private final BackendInfo info;

  RedisTopology(String name, String summary, UnaryOperator<BackendInfoBuilder> promises) {
    this.info =
        promises
            .apply(
                BackendInfoBuilder.of(
                        name,
                        summary
                            + ", expiring with its TTL; tokens from a counter that the server's clock"
                            + " bounds from below")
                    .capabilities(
                        Capability.FENCING,
                        Capability.STARVATION_FREE,
                        Capability.REVOKE,
                        Capability.LIST,
                        Capability.READ_WRITE,
                        Capability.SEMAPHORE,
                        Capability.DEFERRED_RELEASE)
                    .granularity(Duration.ofMillis(10))
                    .minTtl(RedisBackend.MIN_TTL))
            .build();
  }

  BackendInfo info() {
    return info;
  }

  /**
   * Promises of one server. If it forgets a lock that is still valid (lost writes, a clock stepped
   * forward, eviction, a person), there may be a second holder. Tokens still rise. If the last
   * token was forgotten too, the server's clock is past it, unless more than 16 tokens per
   * millisecond were granted since, or the clock was set back at the same time.
   */
  private static BackendInfoBuilder single(BackendInfoBuilder redis) {
    return redis
        .guarantee(
            Guarantee.EXCLUSION_AND_TOKENS,
            Fault.CLIENT_KILLED,
            Fault.CLIENT_STOPPED,
            Fault.CONNECTION_LOST,
            Fault.PARTITION,
            Fault.SERVER_STOPPED,
            Fault.SERVER_RESTARTED,
            Fault.MACHINE_SUSPENDED)
        .guarantee(
            Guarantee.TOKENS_ONLY,
            Fault.SERVER_RESTARTED_EMPTY,
            Fault.ASYNC_FAILOVER,
            Fault.SERVER_CLOCK_STEPPED,
            Fault.EVICTION,
            Fault.FORCED_RELEASE)
        .guarantee(Guarantee.NOT_APPLICABLE, Fault.MINORITY_LOST, Fault.LEADER_CHANGED);
  }

  /**
   * Promises of a primary whose replicas follow asynchronously. A replica replaces the primary when
   * that seems dead; the primary may also be stopped, restarting, or cut off. Writes that were not
   * replicated are lost then, and for a while there may be two primaries. Tokens rise across a
   * fail-over if the servers' clocks differ by less than the duration of the fail-over.
   */
  private static BackendInfoBuilder replicated(BackendInfoBuilder redis) {
    return redis
        .guarantee(
            Guarantee.EXCLUSION_AND_TOKENS,
            Fault.CLIENT_KILLED,
            Fault.CLIENT_STOPPED,
            Fault.CONNECTION_LOST,
            Fault.MACHINE_SUSPENDED)
        .guarantee(
            Guarantee.TOKENS_ONLY,
            Fault.PARTITION,
            Fault.SERVER_STOPPED,
            Fault.SERVER_RESTARTED,
            Fault.SERVER_RESTARTED_EMPTY,
            Fault.ASYNC_FAILOVER,
            Fault.MINORITY_LOST,
            Fault.LEADER_CHANGED,
            Fault.SERVER_CLOCK_STEPPED,
            Fault.EVICTION,
            Fault.FORCED_RELEASE);
  }
}
