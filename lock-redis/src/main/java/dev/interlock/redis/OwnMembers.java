package dev.interlock.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import redis.clients.jedis.HostAndPort;

/** The nodes of a cluster with our own pools. At first these are the nodes that the URI names. */
final class OwnMembers implements ClusterMembers {

  private final Set<HostAndPort> seeds;
  private final Function<HostAndPort, LockPool> makePool;
  private final Map<HostAndPort, PooledNode> nodes = new ConcurrentHashMap<>();

  OwnMembers(Set<HostAndPort> seeds, Function<HostAndPort, LockPool> makePool) {
    this.seeds = Set.copyOf(seeds);
    this.makePool = makePool;
    seeds.forEach(this::at);
  }

  @Override
  public PooledNode at(HostAndPort address) {
    return nodes.computeIfAbsent(address, a -> new PooledNode(makePool.apply(a)));
  }

  @Override
  public List<PooledNode> known() {
    return new ArrayList<>(nodes.values());
  }

  @Override
  public void retain(Set<HostAndPort> addresses) {
    nodes.forEach(
        (address, node) -> {
          // The seeds stay, to find the cluster again if all other nodes move at once.
          if (!addresses.contains(address) && !seeds.contains(address)) {
            nodes.remove(address);
            node.pool().close();
          }
        });
  }

  @Override
  public void close() {
    nodes.values().forEach(node -> node.pool().close());
  }
}
