package dev.interlock.redis;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import java.util.Objects;
import redis.clients.jedis.Connection;
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
 * <p>{@link RedisClient}, {@link RedisClusterClient} and {@link RedisSentinelClient} are used
 * through their pools; their own settings for repeating requests do not matter. Of any other kind
 * of {@link UnifiedJedis} no more is known than that it executes commands: it costs one round trip
 * more per request, and waiters look again from time to time instead of listening. A {@link
 * MultiDbClient} is refused: it writes to whichever database seems healthy, and a lock held in one
 * is free in the next.
 */
public final class RedisLocks {

  private RedisLocks() {}

  /**
   * Opens a client with default settings and options.
   *
   * @param jedis where the locks are kept; with a finite socket time-out
   * @return a new client
   * @throws LockConfigurationException if the Jedis client waits without limit, or is refused by
   *     the server
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
   * @throws LockConfigurationException if the Jedis client waits without limit, or is refused by
   *     the server
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
   * @throws LockConfigurationException if the Jedis client waits without limit, or is refused by
   *     the server
   * @throws dev.interlock.LockUnavailableException if the server does not answer
   */
  public static LockClient using(UnifiedJedis jedis, RedisSettings settings, LockOptions options) {
    Objects.requireNonNull(jedis, "jedis");
    Objects.requireNonNull(settings, "settings");
    return LockClient.using(context -> backend(jedis, settings, context), options);
  }

  static LockBackend backend(UnifiedJedis jedis, RedisSettings settings, BackendContext context) {
    if (jedis instanceof MultiDbClient) {
      throw new LockConfigurationException(
          "a MultiDbClient cannot keep locks: they do not move along when it changes databases; use"
              + " a client of one database");
    }
    if (jedis instanceof RedisClient client) {
      return opening(RedisTopology.SINGLE, jedis, settings, context)
          .on(() -> PooledNodes.ofUser(client::getPool));
    }
    if (jedis instanceof RedisSentinelClient client) {
      return opening(RedisTopology.SENTINEL, jedis, settings, context)
          .on(() -> PooledNodes.ofUser(() -> masterPool(client)));
    }
    if (jedis instanceof RedisClusterClient client) {
      return opening(RedisTopology.CLUSTER, jedis, settings, context)
          .on(() -> new ClusterNodes(new JedisMembers(client), context.time()));
    }
    return opening(RedisTopology.SINGLE, jedis, settings, context)
        .on(() -> new CarriedNodes(jedis));
  }

  private static Pool<Connection> masterPool(RedisSentinelClient jedis) {
    return jedis.getPrimaryNodesConnectionMap().values().iterator().next();
  }

  private static Opening opening(
      RedisTopology topology, UnifiedJedis jedis, RedisSettings settings, BackendContext context) {
    return new Opening(topology, jedis.getClass().getSimpleName(), false, settings, context);
  }
}
