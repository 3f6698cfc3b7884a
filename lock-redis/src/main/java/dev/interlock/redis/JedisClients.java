package dev.interlock.redis;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import java.util.Map;
import java.util.function.Supplier;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.util.Pool;

/**
 * Opens backends on Jedis clients of the program. Separate from {@link RedisLocks}, which checks
 * the version of Jedis before any class is loaded that an older version lacks.
 */
@SuppressWarnings("deprecation") // JedisCluster: programs still have it.
final class JedisClients {

  private JedisClients() {}

  static LockBackend backend(UnifiedJedis jedis, RedisSettings settings, BackendContext context) {
    if (jedis instanceof RedisClient client) {
      requirePools(jedis, client::getPool);
      return opening(RedisTopology.SINGLE, jedis, settings, context)
          .on(() -> PooledNodes.ofUser(client::getPool));
    }
    if (jedis instanceof RedisSentinelClient client) {
      requirePools(jedis, client::getPrimaryNodesConnectionMap);
      return opening(RedisTopology.SENTINEL, jedis, settings, context)
          .on(() -> PooledNodes.ofUser(() -> primaryPool(client)));
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
            + " cannot keep locks, as it may repeat requests on its own, or change servers; use a"
            + " RedisClient, RedisClusterClient, JedisCluster or RedisSentinelClient");
  }

  /** Refuses a client with a custom provider: its getters cast that to Jedis's own type. */
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

  private static Pool<Connection> primaryPool(RedisSentinelClient jedis) {
    return jedis.getPrimaryNodesConnectionMap().values().iterator().next();
  }

  private static Opening opening(
      RedisTopology topology, UnifiedJedis jedis, RedisSettings settings, BackendContext context) {
    return new Opening(topology, jedis.getClass().getSimpleName(), false, settings, context);
  }
}
