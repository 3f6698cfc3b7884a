package dev.interlock.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.function.Supplier;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisClusterOperationException;

/** The nodes and pools of a cluster client that the program made, which stays open. */
final class JedisMembers implements ClusterMembers {

  private final Supplier<Map<String, ConnectionPool>> pools;
  private final Runnable refresh;
  private final ExecutorService returning = ClientPool.returningThreads();

  /**
   * Wraps a client.
   *
   * @param pools its pools, by the nodes' addresses
   * @param refresh makes it ask for its nodes again
   */
  JedisMembers(Supplier<Map<String, ConnectionPool>> pools, Runnable refresh) {
    this.pools = pools;
    this.refresh = refresh;
  }

  @Override
  public PooledNode at(HostAndPort address) {
    ConnectionPool pool = pools.get().get(address.toString());
    if (pool == null) {
      refresh.run();
      pool = pools.get().get(address.toString());
    }
    if (pool == null) {
      throw new JedisClusterOperationException("the cluster's nodes do not know " + address);
    }
    return new PooledNode(new ClientPool(pool, returning));
  }

  @Override
  public List<PooledNode> known() {
    List<PooledNode> nodes = new ArrayList<>();
    pools
        .get()
        .values()
        .forEach(pool -> nodes.add(new PooledNode(new ClientPool(pool, returning))));
    return nodes;
  }

  @Override
  public void consistOf(Set<HostAndPort> addresses) {
    // Jedis finds out itself.
  }

  @Override
  public void close() {
    returning.shutdown();
  }
}
