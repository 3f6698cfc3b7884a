package dev.interlock.redis;

import java.util.List;
import java.util.Set;
import redis.clients.jedis.HostAndPort;

/** The nodes of a cluster, by address. */
interface ClusterMembers extends AutoCloseable {

  /** Returns the node at an address that the cluster has named. */
  PooledNode at(HostAndPort address);

  /** Returns the nodes that may be asked about the cluster. */
  List<PooledNode> known();

  /** Drops the nodes that are no longer part of the cluster. */
  void retain(Set<HostAndPort> addresses);

  @Override
  void close();
}
