package dev.interlock.redis;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.redis.server.JedisVersion;
import java.util.Objects;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.MultiDbClient;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.UnifiedJedis;

/**
 * Opens lock clients that use a Jedis client of the program.
 *
 * <pre>{@code
 * UnifiedJedis jedis = RedisClient.create("redis://localhost:6379");
 * try (LockClient locks = RedisLocks.using(jedis)) {
 *   ...
 * }
 * }</pre>
 *
 * <p>The lock client never closes the Jedis client, which must outlive it. It borrows a connection
 * for each request. While a thread waits for a lock, one more connection listens to releases. This
 * one is made with the settings of the Jedis client, and its pool does not count it.
 *
 * <p>A {@link RedisClient}, {@link RedisClusterClient}, {@link JedisCluster} or {@link
 * RedisSentinelClient} is used through its pools; its own settings for repeating requests do not
 * matter. Any other kind of {@link UnifiedJedis} is refused, because it would execute the requests
 * itself. It may repeat a request whose reply was lost: a forced release would then hit the next
 * holder as well. It may also choose the server: a {@link MultiDbClient} writes to whichever
 * database seems healthy, and a lock that is held in one is free in the next.
 *
 * <p>A {@link RedisSentinelClient} may miss a change of the primary that happens while it connects
 * to the sentinels, and then stays with the old primary. A lock client that is opened by a {@code
 * redis-sentinel:} URI asks the sentinels again when the primary fails.
 *
 * <p>Requires Jedis 8.
 */
@SuppressWarnings("deprecation") // JedisCluster: programs still have it.
public final class RedisLocks {

  private RedisLocks() {}

  /**
   * Opens a client with default settings and options.
   *
   * @param jedis a client of the Redis that keeps the locks; with a finite socket time-out
   * @return a new client
   * @throws LockConfigurationException if the Jedis client is of a kind that cannot keep locks,
   *     waits without limit, or is refused by the server, or if Jedis is older than version 8
   * @throws dev.interlock.LockUnavailableException if the server does not answer
   */
  public static LockClient using(UnifiedJedis jedis) {
    return using(jedis, RedisSettings.defaults(), LockOptions.defaults());
  }

  /**
   * Opens a client with default settings.
   *
   * @param jedis a client of the Redis that keeps the locks; with a finite socket time-out
   * @param options the defaults for every lock of the client
   * @return a new client
   * @throws LockConfigurationException if the Jedis client is of a kind that cannot keep locks,
   *     waits without limit, or is refused by the server, or if Jedis is older than version 8
   * @throws dev.interlock.LockUnavailableException if the server does not answer
   */
  public static LockClient using(UnifiedJedis jedis, LockOptions options) {
    return using(jedis, RedisSettings.defaults(), options);
  }

  /**
   * Opens a client.
   *
   * @param jedis a client of the Redis that keeps the locks; with a finite socket time-out
   * @param settings the settings of the locks on Redis
   * @param options the defaults for every lock of the client
   * @return a new client
   * @throws LockConfigurationException if the Jedis client is of a kind that cannot keep locks,
   *     waits without limit, or is refused by the server, or if Jedis is older than version 8
   * @throws dev.interlock.LockUnavailableException if the server does not answer
   */
  public static LockClient using(UnifiedJedis jedis, RedisSettings settings, LockOptions options) {
    JedisVersion.require();
    Objects.requireNonNull(jedis, "jedis");
    Objects.requireNonNull(settings, "settings");
    return LockClient.using(context -> JedisClients.backend(jedis, settings, context), options);
  }
}
