package dev.interlock.redis;

import dev.interlock.BackendInfo;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
import java.util.List;
import java.util.Set;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/**
 * Opens locks on one Redis server: <code>redis://user:password@host:6379/0</code>, or {@code
 * rediss:} with TLS.
 *
 * <p>The path is the number of a database. {@link #parameters} lists the parameters; {@link
 * RedisSettings} explains some of them.
 */
public final class RedisProvider implements LockProvider {

  /** Creates the provider; for {@link java.util.ServiceLoader}. */
  public RedisProvider() {}

  @Override
  public Set<String> schemes() {
    return Set.of("redis", "rediss");
  }

  @Override
  public BackendInfo describe(String scheme) {
    return RedisTopology.SINGLE.info();
  }

  @Override
  public String example(String scheme) {
    return scheme + "://localhost:6379";
  }

  @Override
  public List<UriParameter<?>> parameters(String scheme) {
    return RedisUri.PARAMETERS;
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    RedisUri redis = new RedisUri(uri, context.options().requestTimeout());
    HostAndPort server = redis.server();
    DefaultJedisClientConfig config = redis.servers.clientConfig(redis.servers.databaseInPath());
    return redis
        .opening(RedisTopology.SINGLE, server.toString(), context)
        .on(() -> PooledNodes.of(redis.pool(server, config)));
  }
}
