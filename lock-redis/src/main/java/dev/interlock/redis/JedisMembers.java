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

/** The nodes and pools of a cluster client of the program, which stays open. */
final class JedisMembers implements ClusterMembers {

  private final Supplier<Map<String, ConnectionPool>> pools;
  private final Runnable refresh;
  private final ExecutorService returning = ClientPool.returningThreads();

  /**
   * Wraps a client.
   *
   * @param pools the pools of the client, by the addresses of the nodes
   * @param refresh makes the client ask for its nodes again
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
  public void retain(Set<HostAndPort> addresses) {
    // Jedis keeps its own list of nodes.
  }

  @Override
  public void close() {
    returning.shutdown();
  }
}
