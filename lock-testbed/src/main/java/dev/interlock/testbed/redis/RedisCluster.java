package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.UnsuitableWayException;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.Servers;
import dev.interlock.testbed.server.Way;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A Redis Cluster: three masters with one replica each, unless told otherwise.
 *
 * <p>A shard's servers stay together for the cluster's life; which of them is its master changes.
 * {@link #masterFor} and {@link #masters} ask the servers.
 */
public final class RedisCluster extends RedisDeployment {
  private final RedisClusterView view;
  private final @Nullable PeerGates gates;

  private RedisCluster(RedisGroup group, RedisClusterView view, @Nullable PeerGates gates) {
    super(group);
    this.view = view;
    this.gates = gates;
  }

  /**
   * Where clients connect, all nodes listed, for example {@code
   * redis-cluster://127.0.0.1:10001,127.0.0.1:10002,...}.
   */
  @Override
  public String uri() {
    return group.uri();
  }

  /** All nodes: first those that began as masters, then those that began as replicas. */
  @Override
  public List<RedisServer> members() {
    return group.members();
  }

  /**
   * The nodes that are masters now, shard by shard.
   *
   * @throws TestbedException if a shard has no running master within a minute
   */
  public List<RedisServer> masters() {
    group.requireOurs();
    List<RedisServer> masters = new ArrayList<>();
    for (int shard = 0; shard < view.shards(); shard++) {
      masters.add(view.awaitMaster(shard));
    }
    return List.copyOf(masters);
  }

  /**
   * The node that serves this key now.
   *
   * @throws TestbedException if the key's shard has no running master within a minute
   */
  public RedisServer masterFor(String key) {
    group.requireOurs();
    return view.awaitMaster(view.shardOf(key));
  }

  /** The other nodes of this node's shard. */
  public List<RedisServer> peersOf(RedisServer node) {
    List<RedisServer> peers = new ArrayList<>(view.shardWith(node));
    peers.remove(node);
    return List.copyOf(peers);
  }

  /**
   * Makes a replica the master of this master's shard in the orderly way ({@code CLUSTER
   * FAILOVER}), in which no acknowledged write is lost.
   *
   * @return the new master, which all running nodes know by then
   * @throws TestbedException if the shard has no running replica, or it takes longer than a minute
   */
  public RedisServer failOver(RedisServer master) {
    return view.failOver(master);
  }

  /**
   * Waits until the cluster has replaced a master that was paused or killed.
   *
   * @return the new master, which all running nodes know by then
   * @throws TestbedException if it takes longer than a minute
   */
  public RedisServer awaitFailOver(RedisServer lost) {
    return view.awaitSuccessor(lost);
  }

  /** The masters of all shards; empty if the cluster is a named endpoint. */
  @Override
  public List<RedisServer> leaders() {
    return members().isEmpty() ? List.of() : masters();
  }

  @Override
  public boolean canChangeLeader() {
    return members().size() > view.shards();
  }

  /** Fails the first shard over, as {@link #failOver} does. */
  @Override
  public void changeLeader() {
    if (!canChangeLeader()) {
      throw new UnsupportedOperationException("no replica of ours could become master");
    }
    failOver(view.awaitMaster(0));
  }

  @Override
  public boolean canCutOff() {
    return gates != null;
  }

  /**
   * Nothing passes between the node and the others on the bus, and the node refuses its replicas; a
   * replica goes on following its master.
   */
  @Override
  public void cutOff(DisposableServer member) {
    gates().cutOff(member.port());
    ((RedisServer) member).refusePeers();
  }

  @Override
  public void reconnect(DisposableServer member) {
    ((RedisServer) member).admitPeers();
    gates().reconnect(member.port());
  }

  private PeerGates gates() {
    if (gates == null) {
      throw new UnsupportedOperationException("the nodes were not started as separable()");
    }
    return gates;
  }

  @Override
  public void heal() {
    members().forEach(DisposableServer::heal);
    if (gates != null) {
      members().forEach(this::reconnect);
    }
    if (!members().isEmpty()) {
      view.awaitWhole();
    }
  }

  @Override
  public void close() {
    Servers.closeAll(members());
  }

  /** What is wanted of a cluster before it is started. */
  public static final class Builder extends RedisBuilder<Builder, RedisCluster> {
    private int shards = 3;
    private int replicas = 1;
    private Duration nodeTimeout = Duration.ofSeconds(2);

    public Builder() {
      super("Redis Cluster");
    }

    /**
     * Sets the number of masters, 3 by default.
     *
     * @throws IllegalArgumentException if it is below 3, which could not vote on a fail-over
     */
    public Builder masters(int masters) {
      if (masters < 3) {
        throw new IllegalArgumentException("a cluster needs at least 3 masters, not " + masters);
      }
      this.shards = masters;
      return this;
    }

    /**
     * Sets the number of replicas of each master, 1 by default.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public Builder replicas(int perMaster) {
      if (perMaster < 0) {
        throw new IllegalArgumentException("replicas must not be negative: " + perMaster);
      }
      this.replicas = perMaster;
      return this;
    }

    /**
     * Sets how long a node is silent before the others call it failing ({@code
     * cluster-node-timeout}), 2 s by default.
     *
     * @throws IllegalArgumentException if it is not positive
     */
    public Builder nodeTimeout(Duration timeout) {
      if (timeout.isZero() || timeout.isNegative()) {
        throw new IllegalArgumentException("the node time-out must be positive, not " + timeout);
      }
      this.nodeTimeout = timeout;
      return this;
    }

    /**
     * Lets masters be {@linkplain Deployment#cutOff cut off} from the others. Clients then need a
     * password, which the URI has. Not with TLS.
     */
    public Builder separable() {
      return separated();
    }

    @Override
    protected RedisCluster startBy(Way way) throws UnsuitableWayException {
      if (way == Way.ENDPOINT) {
        RedisGroup named =
            RedisGroup.named(namedEndpoint("interlock.redis.cluster.uri"), "redis-cluster");
        return new RedisCluster(named, new RedisClusterView(List.of(), 0, nodeTimeout), null);
      }
      RedisNodes nodes = nodes(way);
      PeerGates gates = isSeparable() ? new PeerGates() : null;
      List<RedisServer> started =
          Servers.startAll(
              shards * (1 + replicas),
              i -> retryOnBindConflict(() -> startNode(nodes, "redis-cluster-" + (i + 1), gates)));
      try {
        RedisClusterView view = new RedisClusterView(started, shards, nodeTimeout);
        view.form();
        return new RedisCluster(RedisGroup.of(started, "redis-cluster", started, ""), view, gates);
      } catch (IOException e) {
        TestbedException failure =
            new TestbedException("cannot form the cluster: " + e.getMessage(), e);
        Servers.closeAfter(failure, started);
        throw failure;
      } catch (RuntimeException e) {
        Servers.closeAfter(e, started);
        throw e;
      }
    }

    private RedisServer startNode(RedisNodes nodes, String name, @Nullable PeerGates gates) {
      return nodes.startClusterNode(
          name,
          gates,
          "tls-cluster " + (nodes.config().tls() ? "yes" : "no"),
          "cluster-enabled yes",
          "cluster-config-file nodes.conf",
          "cluster-node-timeout " + nodeTimeout.toMillis(),
          "cluster-announce-ip 127.0.0.1",
          // A replica must not wander off to another shard, nor stand back because its master's
          // link has been down for a while: tests keep masters paused.
          "cluster-migration-barrier 1000",
          "cluster-replica-validity-factor 0");
    }

    @Override
    protected Builder self() {
      return this;
    }
  }
}
