package dev.interlock.redis;

import dev.interlock.BackendInfo;
import dev.interlock.redis.server.Failures;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
import java.util.List;
import java.util.Set;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Opens locks on the primary of a Sentinel group: <code>
 * redis-sentinel://user:password@sentinel1:26379,sentinel2:26379/mymaster</code>, or {@code
 * rediss-sentinel:} with TLS to sentinels and servers alike.
 *
 * <p>The path is the name under which the sentinels know the primary. User and password are those
 * of the primary. Takes the parameters of {@link RedisProvider}, and others for the database and
 * for the user and password of the sentinels.
 */
public final class RedisSentinelProvider implements LockProvider {

  /** Creates the provider; for {@link java.util.ServiceLoader}. */
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
  public List<UriParameter<?>> parameters(String scheme) {
    return RedisUri.PARAMETERS_WITH_SENTINELS;
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    RedisUri redis = new RedisUri(uri, context.options().requestTimeout());
    Set<HostAndPort> sentinels = redis.servers.addresses(RedisUri.SENTINEL_PORT);
    String primary = redis.primaryInPath();
    DefaultJedisClientConfig config = redis.servers.clientConfig(redis.servers.databaseParameter());
    DefaultJedisClientConfig sentinelConfig = redis.sentinelConfig();
    Opening opening =
        redis.opening(RedisTopology.SENTINEL, Opening.endpoint(sentinels) + "/" + primary, context);
    requirePrimary(sentinels, primary, sentinelConfig, opening.failures());
    return opening.on(
        () ->
            PooledNodes.of(
                new SentinelPrimary(
                    new Sentinels(primary, config, sentinels, sentinelConfig),
                    address -> redis.pool(address, config))));
  }

  /**
   * Asks the sentinels for the primary. Jedis's provider does so as well, but does not report why
   * no sentinel answers.
   */
  private static void requirePrimary(
      Set<HostAndPort> sentinels,
      String primary,
      DefaultJedisClientConfig config,
      Failures failures) {
    JedisException problem = new JedisConnectionException("there are no sentinels");
    boolean unknown = false;
    for (HostAndPort sentinel : sentinels) {
      try {
        if (Sentinels.ask(sentinel, primary, config) != null) {
          return;
        }
        unknown = true;
      } catch (JedisException e) {
        problem = e;
      }
    }
    throw unknown
        ? failures.wrong("the sentinels know no primary of that name", null)
        : failures.explainOpening(problem);
  }
}
