package dev.interlock.redis;

import dev.interlock.BackendInfo;
import dev.interlock.redis.server.Failures;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import java.util.Set;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A master and its replicas, watched by Sentinel: <code>
 * redis-sentinel://user:password@sentinel1:26379,sentinel2:26379/mymaster</code>, or {@code
 * rediss-sentinel:} with TLS to sentinels and servers alike.
 *
 * <p>The path is the name under which the sentinels know the master; user and password are those of
 * the master. Takes the parameters of {@link RedisProvider}, and:
 *
 * <ul>
 *   <li>{@code database}: the number of a database, default 0;
 *   <li>{@code sentinelUser}, {@code sentinelPassword}: for the sentinels themselves.
 * </ul>
 */
public final class RedisSentinelProvider implements LockProvider {

  /** Does nothing. */
  public RedisSentinelProvider() {}

  @Override
  public Set<String> schemes() {
    return Set.of("redis-sentinel", "rediss-sentinel");
  }

  @Override
  public BackendInfo describe(String scheme) {
    return RedisTopology.SENTINEL.info();
  }

  @Override
  public String example(String scheme) {
    return scheme + "://sentinel1:26379,sentinel2:26379/mymaster";
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    RedisUri redis = new RedisUri(uri, context.options().requestTimeout());
    Set<HostAndPort> sentinels = redis.sentinels();
    String master = redis.masterInPath();
    DefaultJedisClientConfig config = redis.clientConfig(redis.databaseParameter());
    DefaultJedisClientConfig sentinelConfig = redis.sentinelConfig();
    redis.requireAllRead();
    Opening opening =
        new Opening(
            RedisTopology.SENTINEL,
            Opening.endpoint(sentinels) + "/" + master,
            redis.tls(),
            redis.settings(),
            context);
    requireMaster(sentinels, master, sentinelConfig, opening.failures());
    return opening.on(
        () ->
            PooledNodes.of(
                new SentinelMaster(
                    new Sentinels(master, config, sentinels, sentinelConfig),
                    address -> new LockPool(address, config, redis.poolConfig()))));
  }

  /**
   * Asks the sentinels for the master. Jedis's provider does too, but of the reasons why none of
   * them answers it tells no more than that.
   */
  private static void requireMaster(
      Set<HostAndPort> sentinels,
      String master,
      DefaultJedisClientConfig config,
      Failures failures) {
    JedisException problem = new JedisConnectionException("there are no sentinels");
    boolean unknown = false;
    for (HostAndPort sentinel : sentinels) {
      try {
        if (Sentinels.ask(sentinel, master, config) != null) {
          return;
        }
        unknown = true;
      } catch (JedisException e) {
        problem = e;
      }
    }
    if (unknown) {
      throw failures.wrong("the sentinels know no master of that name", null);
    }
    throw failures.explainOpening(problem);
  }
}
