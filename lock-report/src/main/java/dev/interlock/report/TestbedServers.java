package dev.interlock.report;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.time.Duration;
import java.util.List;

/** The servers of the testbed. */
public final class TestbedServers implements ServerSource {
  private static final String REDIS =
      "append-only file, forced to disk by the system only: the default of the testbed";
  private static final String FORCED = "log forced to disk before every answer";

  /** Clocks of nodes differ by minutes, which must not matter. */
  private static final Duration TEN_MINUTES = Duration.ofMinutes(10);

  /** What a restarted node waits before it votes again, and the longest TTL of its clients. */
  private static final String SHORT_TTLS = "maxTtl=5s";

  /** For the service loader. */
  public TestbedServers() {}

  @Override
  public List<Offer> offers() {
    return List.of(
        new Offer(
            "redis",
            "redis",
            Size.USUAL,
            REDIS,
            () -> Testbed.redis().start(),
            TestbedServers::redisForFaults),
        new Offer(
            "redlock",
            "redlock",
            Size.USUAL,
            REDIS,
            () -> Testbed.redlockNodes().start(),
            TestbedServers::redlockForFaults),
        new Offer(
            "zookeeper",
            "zookeeper",
            Size.USUAL,
            FORCED,
            () -> Testbed.zookeeper().start(),
            () -> Testbed.zookeeper().forFaults().start()),
        new Offer(
            "etcd",
            "etcd",
            Size.USUAL,
            FORCED,
            () -> Testbed.etcd().start(),
            () -> Testbed.etcd().forFaults().start()),
        new Offer(
            "postgresql",
            "postgresql",
            Size.USUAL,
            FORCED,
            () -> Testbed.postgresql().start(),
            () ->
                Testbed.firstAvailable(
                    Testbed.postgresql().forFaults().clockAhead(Duration.ZERO),
                    Testbed.postgresql().forFaults())),
        new Offer(
            "mariadb",
            "mariadb",
            Size.USUAL,
            FORCED,
            () -> Testbed.mariadb().start(),
            () ->
                Testbed.firstAvailable(
                    Testbed.mariadb().forFaults().clockAhead(Duration.ZERO),
                    Testbed.mariadb().forFaults())),
        new Offer(
            "redis-cluster",
            "redis-cluster",
            Size.CLUSTER,
            REDIS,
            () -> Testbed.redisCluster().start(),
            () -> Testbed.redisCluster().separable().forFaults().start()),
        new Offer(
            "redis-sentinel",
            "redis-sentinel",
            Size.CLUSTER,
            REDIS,
            () -> Testbed.redisSentinels().start(),
            () -> Testbed.redisSentinels().separable().forFaults().start()),
        new Offer(
            "zookeeper-3",
            "zookeeper",
            Size.CLUSTER,
            FORCED,
            () -> Testbed.zookeeper().members(3).start(),
            () -> Testbed.zookeeper().members(3).separable().forFaults().start()),
        new Offer(
            "etcd-3",
            "etcd",
            Size.CLUSTER,
            FORCED,
            () -> Testbed.etcd().members(3).start(),
            () -> Testbed.etcd().members(3).separable().forFaults().start()));
  }

  private static RedisServer redisForFaults() {
    return Testbed.firstAvailable(
        Testbed.redis().forFaults().clockAhead(Duration.ZERO), Testbed.redis().forFaults());
  }

  private static RedlockNodes redlockForFaults() {
    return Testbed.firstAvailable(
        Testbed.redlockNodes()
            .forFaults()
            .parameters(SHORT_TTLS)
            .clocksAhead(TEN_MINUTES, TEN_MINUTES.negated(), Duration.ZERO),
        Testbed.redlockNodes().forFaults().parameters(SHORT_TTLS));
  }
}
