package dev.interlock.redis;

import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.ServerUri;
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
 * Locks on Redis:
 *
 * <ul>
 *   <li>one server: <code>redis://user:password@host:6379/0</code>, where the path is the number of
 *       a database;
 *   <li>a Redis Cluster: <code>redis-cluster://user:password@host1:6379,host2:6379</code>, without
 *       a path, because a cluster has one database only. Some of the nodes are enough; the others
 *       are found through them;
 *   <li>a primary and its replicas, watched by Sentinel: <code>
 *       redis-sentinel://user:password@sentinel1:26379,sentinel2:26379/mymaster</code>, where the
 *       path is the name under which the sentinels know the primary; user and password are those of
 *       the primary.
 * </ul>
 *
 * <p>{@code rediss:}, {@code rediss-cluster:} and {@code rediss-sentinel:} are the same with TLS,
 * to sentinels and servers alike. {@link #parameters} lists the parameters; {@link RedisSettings}
 * explains some of them.
 */
public final class RedisProvider implements LockProvider {

  /** Does nothing. */
  public RedisProvider() {}

  @Override
  public Set<String> schemes() {
    return Set.of(
        "redis", "rediss", "redis-cluster", "rediss-cluster", "redis-sentinel", "rediss-sentinel");
  }

  private static RedisTopology topology(String scheme) {
    return scheme.endsWith("-cluster")
        ? RedisTopology.CLUSTER
        : scheme.endsWith("-sentinel") ? RedisTopology.SENTINEL : RedisTopology.SINGLE;
  }

  @Override
  public BackendInfo describe(String scheme) {
    return topology(scheme).info();
  }

  @Override
  public String example(String scheme) {
    return scheme
        + switch (topology(scheme)) {
          case SINGLE -> "://localhost:6379";
          case CLUSTER -> "://host1:6379,host2:6379,host3:6379";
          case SENTINEL -> "://sentinel1:26379,sentinel2:26379/mymaster";
        };
  }

  @Override
  public List<UriParameter<?>> parameters(String scheme) {
    return topology(scheme) == RedisTopology.SENTINEL
        ? RedisUri.PARAMETERS_WITH_SENTINELS
        : RedisUri.PARAMETERS;
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    RedisUri redis = new RedisUri(uri, context.options().requestTimeout());
    return switch (topology(uri.scheme())) {
      case SINGLE -> openServer(redis, context);
      case CLUSTER -> openCluster(redis, context);
      case SENTINEL -> openSentinel(redis, context);
    };
  }

  private static LockBackend openServer(RedisUri redis, BackendContext context) {
    HostAndPort server = redis.server();
    DefaultJedisClientConfig config = redis.servers.clientConfig(redis.servers.databaseInPath());
    return opening(RedisTopology.SINGLE, Opening.endpoint(List.of(server)), redis, context)
        .on(() -> PooledNodes.of(new LockPool(server, config, redis.poolConfig())));
  }

  private static LockBackend openCluster(RedisUri redis, BackendContext context) {
    Set<HostAndPort> nodes = redis.servers.addresses(ServerUri.REDIS_PORT);
    redis.requireNoPath();
    DefaultJedisClientConfig config = redis.servers.clientConfig(0);
    return opening(RedisTopology.CLUSTER, Opening.endpoint(nodes), redis, context)
        .on(
            () ->
                new ClusterNodes(
                    new OwnMembers(nodes, node -> new LockPool(node, config, redis.poolConfig())),
                    context.time()));
  }

  private static LockBackend openSentinel(RedisUri redis, BackendContext context) {
    Set<HostAndPort> sentinels = redis.servers.addresses(RedisUri.SENTINEL_PORT);
    String primary = redis.primaryInPath();
    DefaultJedisClientConfig config = redis.servers.clientConfig(redis.servers.databaseParameter());
    DefaultJedisClientConfig sentinelConfig = redis.sentinelConfig();
    String endpoint = Opening.endpoint(sentinels) + "/" + primary;
    Opening opening = opening(RedisTopology.SENTINEL, endpoint, redis, context);
    requirePrimary(sentinels, primary, sentinelConfig, opening.failures());
    return opening.on(
        () ->
            PooledNodes.of(
                new SentinelPrimary(
                    new Sentinels(primary, config, sentinels, sentinelConfig),
                    address -> new LockPool(address, config, redis.poolConfig()))));
  }

  private static Opening opening(
      RedisTopology topology, String endpoint, RedisUri redis, BackendContext context) {
    return new Opening(topology, endpoint, redis.servers.tls(), redis.settings, context);
  }

  /**
   * Asks the sentinels for the primary. Jedis's provider does so as well, but does not say why no
   * sentinel answers.
   *
   * @throws LockConfigurationException if those that answer know no such primary
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
