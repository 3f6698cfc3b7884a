package dev.interlock.report;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import dev.interlock.testbed.server.Deployment;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;

/** Offers the servers of the testbed. */
public final class TestbedServers implements ServerProvider {
  private static final String REDIS_DURABILITY =
      "append-only file, forced to disk by the system only: the default of the testbed";
  private static final String FORCED_LOG = "log forced to disk before every answer";

  /** The password of all clients; the login adds a request during which a connection can fail. */
  private static final String PASSWORD = "p@ss:word/1";

  /** The user name, for stores that need one with a password. */
  private static final String USER = "storm";

  /** The difference between the clocks of Redlock nodes, which must not matter. */
  private static final Duration TEN_MINUTES = Duration.ofMinutes(10);

  /** The tick of an ensemble that is not configured: four times the tick of the testbed. */
  private static final Duration ZOOKEEPER_DEFAULT_TICK = Duration.ofSeconds(2);

  /** Limits the TTL, and with it the time that a restarted node waits before it votes again. */
  private static final String SHORT_TTLS = "maxTtl=5s";

  /** Used by {@link java.util.ServiceLoader}. */
  public TestbedServers() {}

  @Override
  public List<Offer> offers() {
    return List.of(
        usual(
            "redis",
            REDIS_DURABILITY,
            () -> Testbed.redis().start(),
            TestbedServers::redisForFaults),
        usual(
            "redlock",
            REDIS_DURABILITY,
            () -> Testbed.redlockNodes().start(),
            TestbedServers::redlockForFaults),
        usual(
            "zookeeper",
            FORCED_LOG,
            () -> Testbed.zookeeper().start(),
            () -> Testbed.zookeeper().login(USER, PASSWORD).forFaults().start()),
        usual(
            "etcd",
            FORCED_LOG,
            () -> Testbed.etcd().start(),
            () -> Testbed.etcd().password(PASSWORD).forFaults().start()),
        usual(
            "postgresql",
            FORCED_LOG,
            () -> Testbed.postgresql().start(),
            () ->
                Testbed.firstAvailable(
                    Testbed.postgresql().forFaults().clockAhead(Duration.ZERO),
                    Testbed.postgresql().forFaults())),
        usual(
            "mariadb",
            FORCED_LOG,
            () -> Testbed.mariadb().start(),
            () ->
                Testbed.firstAvailable(
                    Testbed.mariadb().forFaults().clockAhead(Duration.ZERO),
                    Testbed.mariadb().forFaults())),
        new Offer(
            "redis-cluster",
            "redis-cluster",
            Size.CLUSTER,
            REDIS_DURABILITY,
            () -> Testbed.redisCluster().start(),
            () -> Testbed.redisCluster().password(PASSWORD).separable().forFaults().start()),
        new Offer(
            "redis-sentinel",
            "redis-sentinel",
            Size.CLUSTER,
            REDIS_DURABILITY,
            () -> Testbed.redisSentinels().start(),
            () -> Testbed.redisSentinels().password(PASSWORD).separable().forFaults().start()),
        new Offer(
            "zookeeper-3",
            "zookeeper",
            Size.CLUSTER,
            FORCED_LOG,
            () -> Testbed.zookeeper().members(3).start(),
            () ->
                Testbed.zookeeper()
                    .members(3)
                    .tick(ZOOKEEPER_DEFAULT_TICK)
                    .login(USER, PASSWORD)
                    .separable()
                    .forFaults()
                    .start()),
        new Offer(
            "etcd-3",
            "etcd",
            Size.CLUSTER,
            FORCED_LOG,
            () -> Testbed.etcd().members(3).start(),
            () -> Testbed.etcd().members(3).password(PASSWORD).separable().forFaults().start()));
  }

  /** {@return an offer that every comparison starts, named like its scheme} */
  private static Offer usual(
      String scheme,
      String durability,
      Supplier<? extends Deployment> start,
      Supplier<? extends Deployment> startForFaults) {
    return new Offer(scheme, scheme, Size.USUAL, durability, start, startForFaults);
  }

  private static RedisServer redisForFaults() {
    return Testbed.firstAvailable(
        Testbed.redis().password(PASSWORD).forFaults().clockAhead(Duration.ZERO),
        Testbed.redis().password(PASSWORD).forFaults());
  }

  private static RedlockNodes redlockForFaults() {
    return Testbed.firstAvailable(
        Testbed.redlockNodes()
            .password(PASSWORD)
            .forFaults()
            .parameters(SHORT_TTLS)
            .clocksAhead(TEN_MINUTES, TEN_MINUTES.negated(), Duration.ZERO),
        Testbed.redlockNodes().password(PASSWORD).forFaults().parameters(SHORT_TTLS));
  }
}
