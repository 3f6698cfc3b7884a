package dev.interlock.report;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import dev.interlock.testbed.server.Deployment;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;

/** The servers of the testbed. */
public final class TestbedServers implements ServerSource {
  private static final String REDIS =
      "append-only file, forced to disk by the system only: the default of the testbed";
  private static final String FORCED = "log forced to disk before every answer";

  /** What clients log in with: a login is a request more in which a connection can fail. */
  private static final String PASSWORD = "p@ss:word/1";

  /** The user for stores in which a password needs one. */
  private static final String USER = "storm";

  /** Clocks of nodes differ by minutes, which must not matter. */
  private static final Duration TEN_MINUTES = Duration.ofMinutes(10);

  /** What ensembles have unless it is configured: four times the testbed's. */
  private static final Duration ZOOKEEPERS_OWN_TICK = Duration.ofSeconds(2);

  /** What a restarted node waits before it votes again, and the longest TTL of its clients. */
  private static final String SHORT_TTLS = "maxTtl=5s";

  /** For the service loader. */
  public TestbedServers() {}

  @Override
  public List<Offer> offers() {
    return List.of(
        usual("redis", REDIS, () -> Testbed.redis().start(), TestbedServers::redisForFaults),
        usual(
            "redlock",
            REDIS,
            () -> Testbed.redlockNodes().start(),
            TestbedServers::redlockForFaults),
        usual(
            "zookeeper",
            FORCED,
            () -> Testbed.zookeeper().start(),
            () -> Testbed.zookeeper().login(USER, PASSWORD).forFaults().start()),
        usual(
            "etcd",
            FORCED,
            () -> Testbed.etcd().start(),
            () -> Testbed.etcd().password(PASSWORD).forFaults().start()),
        usual(
            "postgresql",
            FORCED,
            () -> Testbed.postgresql().start(),
            () ->
                Testbed.firstAvailable(
                    Testbed.postgresql().forFaults().clockAhead(Duration.ZERO),
                    Testbed.postgresql().forFaults())),
        usual(
            "mariadb",
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
            () -> Testbed.redisCluster().password(PASSWORD).separable().forFaults().start()),
        new Offer(
            "redis-sentinel",
            "redis-sentinel",
            Size.CLUSTER,
            REDIS,
            () -> Testbed.redisSentinels().start(),
            () -> Testbed.redisSentinels().password(PASSWORD).separable().forFaults().start()),
        new Offer(
            "zookeeper-3",
            "zookeeper",
            Size.CLUSTER,
            FORCED,
            () -> Testbed.zookeeper().members(3).start(),
            () ->
                Testbed.zookeeper()
                    .members(3)
                    .tick(ZOOKEEPERS_OWN_TICK)
                    .login(USER, PASSWORD)
                    .separable()
                    .forFaults()
                    .start()),
        new Offer(
            "etcd-3",
            "etcd",
            Size.CLUSTER,
            FORCED,
            () -> Testbed.etcd().members(3).start(),
            () -> Testbed.etcd().members(3).password(PASSWORD).separable().forFaults().start()));
  }

  /** One that is part of every comparison, and has the name of its scheme. */
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
