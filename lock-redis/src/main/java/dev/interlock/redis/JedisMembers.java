package dev.interlock.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.exceptions.JedisClusterOperationException;

/** The nodes and pools of a cluster client of the user's, which stays open. */
final class JedisMembers implements ClusterMembers {

  private final RedisClusterClient jedis;
  private final BrokenConnections broken = new BrokenConnections();

  JedisMembers(RedisClusterClient jedis) {
    this.jedis = jedis;
  }

  @Override
  public PooledNode at(HostAndPort address) {
    ConnectionPool pool = jedis.getClusterNodes().get(address.toString());
    if (pool == null) {
      jedis.refreshClusterTopology();
      pool = jedis.getClusterNodes().get(address.toString());
    }
    if (pool == null) {
      throw new JedisClusterOperationException("the cluster's nodes do not know " + address);
    }
    return new PooledNode(pool, broken);
  }

  @Override
  public List<PooledNode> known() {
    List<PooledNode> nodes = new ArrayList<>();
    jedis.getClusterNodes().values().forEach(pool -> nodes.add(new PooledNode(pool, broken)));
    return nodes;
  }

  @Override
  public void consistOf(Set<HostAndPort> addresses) {
    // Jedis finds out for itself.
  }

  @Override
  public void close() {
    broken.close();
  }
}
