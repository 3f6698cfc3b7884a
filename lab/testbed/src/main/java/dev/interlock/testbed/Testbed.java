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
import dev.interlock.testbed.server.Way;
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
 * <p>Where a server comes from is tried in the order of {@link Way}; settings are read from system
 * properties ({@code interlock.redis.uri}) or else the environment ({@code INTERLOCK_REDIS_URI}).
 */
public final class Testbed {
  private Testbed() {}

  /**
   * Whether all that tests need must be there, so that a missing server is a failure and never a
   * reason to skip: {@code INTERLOCK_REQUIRE_ALL=true}.
   */
  public static boolean requiresAll() {
    return Settings.get("interlock.require.all").map(Boolean::parseBoolean).orElse(false);
  }

  /**
   * Reserves a local port on which nothing listens, for a server that a test starts, or for none.
   * It is below those that systems give to outgoing connections, and no testbed on this machine
   * hands it out again while this JVM runs.
   *
   * @throws TestbedException if there is none
   */
  public static int freePort() {
    return Ports.reserve();
  }

  /**
   * Starts one deployment or, where none of its ways can serve, another: one that asks less of the
   * machine.
   *
   * @throws NoServerException if the other one cannot be started either
   */
  public static <D extends Deployment> D firstAvailable(
      DeploymentBuilder<?, ? extends D> wanted, DeploymentBuilder<?, ? extends D> otherwise) {
    try {
      return wanted.start();
    } catch (NoServerException e) {
      return otherwise.start();
    }
  }

  /** One Redis server. */
  public static RedisServer.Builder redis() {
    return new RedisServer.Builder();
  }

  /** A Redis Cluster of 3 masters and 3 replicas. */
  public static RedisCluster.Builder redisCluster() {
    return new RedisCluster.Builder();
  }

  /** A Redis master and its replica, watched by 3 sentinels. */
  public static RedisSentinels.Builder redisSentinels() {
    return new RedisSentinels.Builder();
  }

  /** Five independent Redis masters. */
  public static RedlockNodes.Builder redlockNodes() {
    return new RedlockNodes.Builder();
  }

  /** A ZooKeeper ensemble, of one member by default. */
  public static ZooKeeperEnsemble.Builder zookeeper() {
    return new ZooKeeperEnsemble.Builder();
  }

  /** An etcd cluster, of one member by default. */
  public static EtcdCluster.Builder etcd() {
    return new EtcdCluster.Builder();
  }

  /** One PostgreSQL server. */
  public static PostgresServer.Builder postgresql() {
    return new PostgresServer.Builder();
  }

  /** One MariaDB server. */
  public static MariaDbServer.Builder mariadb() {
    return new MariaDbServer.Builder();
  }
}
