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
 * borrowed for one request each. While a thread waits for a lock there is one more, to listen to
 * releases, made with the client's own settings and not counted by its pool.
 *
 * <p>A {@link RedisClient}, {@link RedisClusterClient}, {@link JedisCluster} or {@link
 * RedisSentinelClient} is used through its pools; its own settings for repeating requests do not
 * matter. Any other kind of {@link UnifiedJedis} is refused. It would have to execute the requests
 * itself, and may repeat one whose reply was lost: a forced release would then hit the next holder
 * as well. Where it sends them is not known either: a {@link MultiDbClient} writes to whichever
 * database seems healthy, and a lock held in one is free in the next.
 *
 * <p>A {@link RedisSentinelClient} may miss that the sentinels have changed the primary, if that
 * happens while it connects to them, and then stays with the old one. A client that is opened by a
 * {@code redis-sentinel:} URI asks the sentinels again when the primary fails.
 *
 * <p>Jedis 8 is needed.
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
   *     waits without limit, or is refused by the server, or if Jedis is older than version 8
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
   *     waits without limit, or is refused by the server, or if Jedis is older than version 8
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
