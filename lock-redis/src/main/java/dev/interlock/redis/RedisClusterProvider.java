package dev.interlock.redis;

import dev.interlock.BackendInfo;
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

/**
 * Opens locks on a Redis Cluster: <code>redis-cluster://user:password@host1:6379,host2:6379</code>,
 * or {@code rediss-cluster:} with TLS. The URI needs to name only some of the nodes; the others are
 * found through them.
 *
 * <p>Takes the parameters of {@link RedisProvider}. There is no path, because a cluster has only
 * one database.
 */
public final class RedisClusterProvider implements LockProvider {

  /** Creates the provider; for {@link java.util.ServiceLoader}. */
  public RedisClusterProvider() {}

  @Override
  public Set<String> schemes() {
    return Set.of("redis-cluster", "rediss-cluster");
  }

  @Override
  public BackendInfo describe(String scheme) {
    return RedisTopology.CLUSTER.info();
  }

  @Override
  public String example(String scheme) {
    return scheme + "://host1:6379,host2:6379,host3:6379";
  }

  @Override
  public List<UriParameter<?>> parameters(String scheme) {
    return RedisUri.PARAMETERS;
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    RedisUri redis = new RedisUri(uri, context.options().requestTimeout());
    Set<HostAndPort> nodes = redis.servers.addresses(ServerUri.REDIS_PORT);
    redis.requireNoPath();
    DefaultJedisClientConfig config = redis.servers.clientConfig(0);
    return redis
        .opening(RedisTopology.CLUSTER, Opening.endpoint(nodes), context)
        .on(
            () ->
                new ClusterNodes(
                    new OwnMembers(nodes, node -> redis.pool(node, config)), context.time()));
  }
}
