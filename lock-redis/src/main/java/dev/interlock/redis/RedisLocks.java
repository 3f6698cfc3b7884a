package dev.interlock.redis;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.MultiDbClient;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.util.Pool;

/**
 * Locks through a Jedis client that the program already has.
 *
 * <pre>{@code
 * UnifiedJedis jedis = RedisClient.create("redis://localhost:6379");
 * try (LockClient locks = RedisLocks.using(jedis)) {
 *   ...
 * }
 * }</pre>
 *
 * <p>The Jedis client is never closed here, and has to outlive the lock client. Its connections are
 * borrowed for one request each. While somebody waits for a lock there is one more, made with the
 * client's own settings and not counted by its pool, on which releases are listened to.
 *
 * <p>A {@link RedisClient}, {@link RedisClusterClient}, {@link JedisCluster} or {@link
 * RedisSentinelClient} is used through its pools; its own settings for repeating requests do not
 * matter. Any other kind of {@link UnifiedJedis} is refused. It would have to execute the requests
 * itself, and may repeat one whose reply was lost: a forced release would then hit the next holder
 * as well. Where it sends them is not known either: a {@link MultiDbClient} writes to whichever
 * database seems healthy, and a lock held in one is free in the next.
 *
 * <p>A {@link RedisSentinelClient} may miss that the sentinels have changed the master, if that
 * happens while it connects to them, and stays with the old one then. A client that is opened by a
 * {@code redis-sentinel:} URI asks the sentinels again when the master fails.
 */
@SuppressWarnings("deprecation") // JedisCluster: programs still have it.
public final class RedisLocks {

  private RedisLocks() {}

  /**
   * Opens a client with default settings and options.
   *
   * @param jedis where the locks are kept; with a finite socket time-out
   * @return a new client
   * @throws LockConfigurationException if the Jedis client is of a kind that cannot keep locks,
   *     waits without limit, or is refused by the server
   * @throws dev.interlock.LockUnavailableException if the server does not answer
   */
  public static LockClient using(UnifiedJedis jedis) {
    return using(jedis, RedisSettings.defaults(), LockOptions.defaults());
  }

  /**
   * Opens a client with default settings.
   *
   * @param jedis where the locks are kept; with a finite socket time-out
   * @param options what holds for every lock of the client unless said otherwise per lock
   * @return a new client
   * @throws LockConfigurationException if the Jedis client is of a kind that cannot keep locks,
   *     waits without limit, or is refused by the server
   * @throws dev.interlock.LockUnavailableException if the server does not answer
   */
  public static LockClient using(UnifiedJedis jedis, LockOptions options) {
    return using(jedis, RedisSettings.defaults(), options);
  }

  /**
   * Opens a client.
   *
   * @param jedis where the locks are kept; with a finite socket time-out
   * @param settings how they are kept
   * @param options what holds for every lock of the client unless said otherwise per lock
   * @return a new client
   * @throws LockConfigurationException if the Jedis client is of a kind that cannot keep locks,
   *     waits without limit, or is refused by the server
   * @throws dev.interlock.LockUnavailableException if the server does not answer
   */
  public static LockClient using(UnifiedJedis jedis, RedisSettings settings, LockOptions options) {
    Objects.requireNonNull(jedis, "jedis");
    Objects.requireNonNull(settings, "settings");
    return LockClient.using(context -> backend(jedis, settings, context), options);
  }

  static LockBackend backend(UnifiedJedis jedis, RedisSettings settings, BackendContext context) {
    if (jedis instanceof RedisClient client) {
      requirePools(jedis, client::getPool);
      return opening(RedisTopology.SINGLE, jedis, settings, context)
          .on(() -> PooledNodes.ofUser(client::getPool));
    }
    if (jedis instanceof RedisSentinelClient client) {
      requirePools(jedis, client::getPrimaryNodesConnectionMap);
      return opening(RedisTopology.SENTINEL, jedis, settings, context)
          .on(() -> PooledNodes.ofUser(() -> masterPool(client)));
    }
    if (jedis instanceof RedisClusterClient client) {
      return opening(RedisTopology.CLUSTER, jedis, settings, context)
          .on(() -> clusterNodes(client::getClusterNodes, client::refreshClusterTopology, context));
    }
    if (jedis instanceof JedisCluster client) {
      return opening(RedisTopology.CLUSTER, jedis, settings, context)
          .on(() -> clusterNodes(client::getClusterNodes, client::refreshClusterTopology, context));
    }
    throw new LockConfigurationException(
        "redis: a "
            + jedis.getClass().getSimpleName()
            + " cannot keep locks, as it may repeat requests by itself, or change servers; use a"
            + " RedisClient, RedisClusterClient, JedisCluster or RedisSentinelClient");
  }

  /** Jedis reaches for the pools of the provider that it makes itself, whichever it was given. */
  private static void requirePools(UnifiedJedis jedis, Runnable reachForPools) {
    try {
      reachForPools.run();
    } catch (ClassCastException e) {
      throw new LockConfigurationException(
          "redis: a "
              + jedis.getClass().getSimpleName()
              + " with this connectionProvider has no pools to borrow connections from; build it"
              + " without one",
          e);
    }
  }

  private static ClusterNodes clusterNodes(
      Supplier<Map<String, ConnectionPool>> pools, Runnable refresh, BackendContext context) {
    return new ClusterNodes(new JedisMembers(pools, refresh), context.time());
  }

  private static Pool<Connection> masterPool(RedisSentinelClient jedis) {
    return jedis.getPrimaryNodesConnectionMap().values().iterator().next();
  }

  private static Opening opening(
      RedisTopology topology, UnifiedJedis jedis, RedisSettings settings, BackendContext context) {
    return new Opening(topology, jedis.getClass().getSimpleName(), false, settings, context);
  }
}
