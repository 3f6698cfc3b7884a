package dev.interlock.redis;

import dev.interlock.BackendInfo;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import java.util.List;
import java.util.Set;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/**
 * One Redis server: <code>redis://user:password@host:6379/0</code>, or {@code rediss:} with TLS.
 *
 * <p>The path is the number of a database. Parameters of all Redis schemes:
 *
 * <ul>
 *   <li>{@code namespace}, {@code fenceRetention}, {@code waitReplicas}: see {@link RedisSettings};
 *   <li>{@code connectTimeout}: how long connecting may take; default: the request time-out;
 *   <li>{@code maxConnections}: per server, default 16; made when needed, and closed when they have
 *       not been used for a minute or so. One more, to any one of the servers, is there while
 *       somebody waits;
 *   <li>{@code caCert}: with TLS, a PEM file with the authorities to be trusted in place of the
 *       JVM's.
 * </ul>
 */
public final class RedisProvider implements LockProvider {

  /** Does nothing. */
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
  public LockBackend open(LockUri uri, BackendContext context) {
    RedisUri redis = new RedisUri(uri, context.options().requestTimeout());
    HostAndPort server = redis.server();
    DefaultJedisClientConfig config = redis.clientConfig(redis.databaseInPath());
    redis.requireAllRead();
    return new Opening(
            RedisTopology.SINGLE,
            Opening.endpoint(List.of(server)),
            redis.tls(),
            redis.settings(),
            context)
        .on(() -> PooledNodes.of(new LockPool(server, config, redis.poolConfig())));
  }
}
