package dev.interlock.testbed;

import dev.interlock.testbed.database.MariaDbServer;
import dev.interlock.testbed.database.PostgresServer;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.install.Settings;
import dev.interlock.testbed.process.Ports;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.redis.RedisCluster;
import dev.interlock.testbed.redis.RedisSentinels;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DeploymentBuilder;
import dev.interlock.testbed.server.NoServerException;
import dev.interlock.testbed.server.ServerSource;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;

/**
 * Disposable real servers.
 *
 * <pre>{@code
 * try (RedisServer redis = Testbed.redis().start()) {
 *   try (LockClient client = LockClient.open(redis.uri())) {
 *     redis.pause();
 *     ...
 *   }
 * }
 * }</pre>
 *
 * <p>Servers listen on 127.0.0.1 only, on free ports, and keep their files below the temporary
 * directory. They end with {@code close()}, with the JVM, and also when the JVM is killed.
 *
 * <p>Sources of servers are tried in the order of {@link ServerSource}. Settings are system
 * properties ({@code interlock.redis.uri}) or environment variables ({@code INTERLOCK_REDIS_URI}).
 */
public final class Testbed {
  private Testbed() {}

  /**
   * {@return whether a missing server must fail a test instead of skipping it, as {@code
   * INTERLOCK_REQUIRE_ALL=true} says}
   */
  public static boolean requiresAll() {
    return Settings.get("interlock.require.all").map(Boolean::parseBoolean).orElse(false);
  }

  /**
   * Reserves a local port on which nothing listens. It is below the ephemeral range, and no other
   * testbed on this machine uses it while this JVM runs.
   *
   * @throws TestbedException if there is no free port
   */
  public static int freePort() {
    return Ports.reserve();
  }

  /**
   * Starts one deployment or, if that is not available, another one that requires less.
   *
   * @throws NoServerException if neither is available
   */
  public static <D extends Deployment> D firstAvailable(
      DeploymentBuilder<?, ? extends D> preferred, DeploymentBuilder<?, ? extends D> fallback) {
    try {
      return preferred.start();
    } catch (NoServerException e) {
      return fallback.start();
    }
  }

  /** {@return a builder of one Redis server} */
  public static RedisServer.Builder redis() {
    return new RedisServer.Builder();
  }

  /** {@return a builder of a Redis Cluster of 3 masters and 3 replicas} */
  public static RedisCluster.Builder redisCluster() {
    return new RedisCluster.Builder();
  }

  /** {@return a builder of a Redis master and its replica, watched by 3 sentinels} */
  public static RedisSentinels.Builder redisSentinels() {
    return new RedisSentinels.Builder();
  }

  /** {@return a builder of five independent Redis masters} */
  public static RedlockNodes.Builder redlockNodes() {
    return new RedlockNodes.Builder();
  }

  /** {@return a builder of a ZooKeeper ensemble, of one member by default} */
  public static ZooKeeperEnsemble.Builder zookeeper() {
    return new ZooKeeperEnsemble.Builder();
  }

  /** {@return a builder of an etcd cluster, of one member by default} */
  public static EtcdCluster.Builder etcd() {
    return new EtcdCluster.Builder();
  }

  /** {@return a builder of one PostgreSQL server} */
  public static PostgresServer.Builder postgresql() {
    return new PostgresServer.Builder();
  }

  /** {@return a builder of one MariaDB server} */
  public static MariaDbServer.Builder mariadb() {
    return new MariaDbServer.Builder();
  }
}
