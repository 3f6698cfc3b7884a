package dev.interlock.report;

import dev.interlock.testbed.Deployment;
import dev.interlock.testbed.DeploymentBuilder;
import dev.interlock.testbed.NoServerException;
import dev.interlock.testbed.RedisServer;
import dev.interlock.testbed.RedlockNodes;
import dev.interlock.testbed.Testbed;
import java.time.Duration;
import java.util.List;

/** The servers of the testbed. */
public final class TestbedServers implements ServerSource {
  private static final String REDIS =
      "append-only file, forced to disk by the system only: the default of the testbed";
  private static final String ZOOKEEPER = "log forced to disk before every answer";
  private static final String ETCD = "log forced to disk before every answer";

  /** For the service loader. */
  public TestbedServers() {}

  /** Minutes that clocks of nodes differ by, which must not matter. */
  private static final Duration TEN_MINUTES = Duration.ofMinutes(10);

  /** What a restarted node waits before it votes again, and the longest TTL of its clients. */
  private static final String SHORT_TTLS = "maxTtl=5s";

  @Override
  public List<Offer> offers() {
    return List.of(
        new Offer(
            "redis",
            "redis",
            Size.USUAL,
            REDIS,
            () -> Testbed.redis().start(),
            () -> withClocks(redis().clockAhead(Duration.ZERO), redis())),
        new Offer(
            "redlock",
            "redlock",
            Size.USUAL,
            REDIS,
            () -> Testbed.redlockNodes().start(),
            () ->
                withClocks(
                    redlock().clocksAhead(TEN_MINUTES, TEN_MINUTES.negated(), Duration.ZERO),
                    redlock())),
        new Offer(
            "zookeeper",
            "zookeeper",
            Size.USUAL,
            ZOOKEEPER,
            () -> Testbed.zookeeper().start(),
            () -> Testbed.zookeeper().forFaults().start()),
        new Offer(
            "etcd",
            "etcd",
            Size.USUAL,
            ETCD,
            () -> Testbed.etcd().start(),
            () -> Testbed.etcd().forFaults().start()),
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
            ZOOKEEPER,
            () -> Testbed.zookeeper().members(3).start(),
            () -> Testbed.zookeeper().members(3).separable().forFaults().start()),
        new Offer(
            "etcd-3",
            "etcd",
            Size.CLUSTER,
            ETCD,
            () -> Testbed.etcd().members(3).start(),
            () -> Testbed.etcd().members(3).separable().forFaults().start()));
  }

  private static RedisServer.Builder redis() {
    return Testbed.redis().forFaults();
  }

  private static RedlockNodes.Builder redlock() {
    return Testbed.redlockNodes().forFaults().parameters(SHORT_TTLS);
  }

  /** Clocks of their own are not to be had everywhere. */
  private static <D extends Deployment> D withClocks(
      DeploymentBuilder<?, D> wanted, DeploymentBuilder<?, D> otherwise) {
    try {
      return wanted.start();
    } catch (NoServerException e) {
      return otherwise.start();
    }
  }
}
