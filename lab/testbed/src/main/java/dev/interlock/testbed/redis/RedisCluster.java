package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.UnsuitableWayException;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.Servers;
import dev.interlock.testbed.server.Way;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A Redis Cluster: three masters with one replica each. Its URI lists all nodes, for example {@code
 * redis-cluster://127.0.0.1:10001,127.0.0.1:10002,...}; its members are first those that began as
 * masters, then those that began as replicas.
 *
 * <p>A shard's servers stay together for the cluster's life; which of them is its master changes.
 * {@link #masterFor} and {@link #masters} ask the servers.
 */
public final class RedisCluster extends RedisDeployment {
  private static final String SCHEME = "redis-cluster";

  private final RedisClusterView view;

  private RedisCluster(List<RedisServer> nodes, RedisClusterView view, @Nullable PeerGates gates) {
    super(nodes, SCHEME, nodes, "", gates);
    this.view = view;
  }

  private RedisCluster(EndpointUri uri) throws IOException {
    super(uri);
    this.view = new RedisClusterView(List.of(), Duration.ZERO);
  }

  /**
   * The nodes that are masters now, shard by shard.
   *
   * @throws TestbedException if a shard has no running master within a minute
   */
  public List<RedisServer> masters() {
    requireOurs();
    List<RedisServer> masters = new ArrayList<>();
    for (int shard = 0; shard < RedisClusterView.SHARDS; shard++) {
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
    requireOurs();
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
    return !members().isEmpty();
  }

  /** Fails the first shard over, as {@link #failOver} does. */
  @Override
  public void changeLeader() {
    requireOurs();
    failOver(view.awaitMaster(0));
  }

  @Override
  protected void awaitWhole() {
    view.awaitWhole();
  }

  /** What is wanted of a cluster before it is started. */
  public static final class Builder extends RedisBuilder<Builder, RedisCluster> {
    private Duration nodeTimeout = Duration.ofSeconds(2);

    public Builder() {
      super("Redis Cluster", "interlock.redis.cluster.uri");
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
    protected RedisCluster named(String text) throws IOException {
      return new RedisCluster(EndpointUri.parse(text, SCHEME, RedisEndpoint.PORT));
    }

    @Override
    protected RedisCluster launch(Way way) throws UnsuitableWayException {
      RedisNodes nodes = nodes(way);
      PeerGates gates = isSeparable() ? new PeerGates() : null;
      return Servers.startAll(
          2 * RedisClusterView.SHARDS,
          i -> retryOnBindConflict(() -> startNode(nodes, "redis-cluster-" + (i + 1), gates)),
          started -> {
            RedisClusterView view = new RedisClusterView(started, nodeTimeout);
            view.form();
            return new RedisCluster(started, view, gates);
          });
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
  }
}
