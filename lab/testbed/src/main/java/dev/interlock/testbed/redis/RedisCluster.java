package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.UnsuitableSourceException;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.ServerSource;
import dev.interlock.testbed.server.Servers;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A Redis Cluster: three masters with one replica each. Its URI lists all nodes, for example {@code
 * redis-cluster://127.0.0.1:10001,127.0.0.1:10002,...}. Its members are first those that started as
 * masters, then those that started as replicas.
 *
 * <p>The servers of a shard stay the same, but its master changes. {@link #masterFor} and {@link
 * #masters} ask the servers.
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
   * Returns the current masters, in the order of their shards.
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
   * Returns the node that currently serves a key.
   *
   * @throws TestbedException if the key's shard has no running master within a minute
   */
  public RedisServer masterFor(String key) {
    requireOurs();
    return view.awaitMaster(view.shardOf(key));
  }

  /** {@return the other nodes of a node's shard} */
  public List<RedisServer> peersOf(RedisServer node) {
    List<RedisServer> peers = new ArrayList<>(view.shardWith(node));
    peers.remove(node);
    return List.copyOf(peers);
  }

  /**
   * Makes a replica the master of this master's shard ({@code CLUSTER FAILOVER}). No acknowledged
   * write is lost.
   *
   * @return the new master, which all running nodes know
   * @throws TestbedException if the shard has no running replica, or it takes longer than a minute
   */
  public RedisServer failOver(RedisServer master) {
    return view.failOver(master);
  }

  /**
   * Waits until the cluster has replaced a master that was paused or killed.
   *
   * @return the new master, which all running nodes know
   * @throws TestbedException if it takes longer than a minute
   */
  public RedisServer awaitFailOver(RedisServer lost) {
    return view.awaitSuccessor(lost);
  }

  /** {@return the masters of all shards; empty for a named endpoint} */
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

  /** The settings of a cluster before it is started. */
  public static final class Builder extends RedisBuilder<Builder, RedisCluster> {
    private Duration nodeTimeout = Duration.ofSeconds(2);

    public Builder() {
      super("Redis Cluster", "interlock.redis.cluster.uri");
    }

    /**
     * Sets the time after which silent nodes count as failing ({@code cluster-node-timeout}), 2 s
     * by default.
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
     * Makes it possible to {@linkplain Deployment#cutOff cut off} masters from the others, but not
     * with TLS. Clients then need a password, which the URI contains.
     */
    public Builder separable() {
      return makeSeparable();
    }

    @Override
    protected RedisCluster named(String text) throws IOException {
      return new RedisCluster(EndpointUri.parse(text, SCHEME, RedisEndpoint.PORT));
    }

    @Override
    protected RedisCluster launch(ServerSource source) throws UnsuitableSourceException {
      RedisNodes nodes = nodes(source);
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
          // A replica must not migrate to another shard. It must also stay eligible while its link
          // to the master is down, since tests keep masters paused.
          "cluster-migration-barrier 1000",
          "cluster-replica-validity-factor 0");
    }
  }
}
