package dev.interlock.testbed.redis;

import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.server.DisposableServer.State;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Forms a Redis Cluster, and reads its state from its nodes with {@code CLUSTER NODES}.
 *
 * <p>Node {@code i} always belongs to shard {@code i mod shards}.
 *
 * <p>Commands: <a
 * href="https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/">Redis cluster
 * specification</a>.
 */
final class RedisClusterView {
  /** The number of masters. A fail-over needs the votes of several. */
  static final int SHARDS = 3;

  private static final int SLOTS = 16_384;
  private static final Duration LIMIT = Duration.ofMinutes(1);
  private static final int LOG_LINES = 20;

  private final List<RedisServer> nodes;
  private final Duration voteLifetime;
  private final Map<Integer, RedisServer> masters = new ConcurrentHashMap<>();
  private final Map<RedisServer, Long> electedAt = new ConcurrentHashMap<>();

  /**
   * Creates a view of nodes, without asking them.
   *
   * @param nodes all nodes, in the order of their shards
   * @param nodeTimeout the nodes' {@code cluster-node-timeout}
   */
  RedisClusterView(List<RedisServer> nodes, Duration nodeTimeout) {
    this.nodes = nodes;
    // How long a node counts the votes of an election, with the limits of cluster.c.
    this.voteLifetime = Duration.ofMillis(Math.max(2_000, nodeTimeout.toMillis() * 2));
  }

  /** One line of CLUSTER NODES: {@code id address flags master ping pong epoch link slots...}. */
  private record Line(
      String id, int port, List<String> flags, String master, long epoch, List<String> slots) {
    static Line parse(String text) {
      String[] words = text.split(" ");
      String address = words[1].replaceFirst("[@,].*", "");
      return new Line(
          words[0],
          Integer.parseInt(address.substring(address.lastIndexOf(':') + 1)),
          List.of(words[2].split(",")),
          words[3],
          Long.parseLong(words[6]),
          Arrays.stream(words).skip(8).filter(range -> !range.startsWith("[")).toList());
    }

    boolean isServingMaster() {
      return flags.contains("master") && !slots.isEmpty();
    }

    boolean isHealthy() {
      return Collections.disjoint(
          flags, List.of("fail", "fail?", "handshake", "noaddr", "nofailover"));
    }
  }

  /** Forms a cluster of new nodes. */
  void form() throws IOException {
    for (int i = 0; i < nodes.size(); i++) {
      // Different from the start; otherwise the nodes first have to resolve the conflict.
      nodes.get(i).call("CLUSTER", "SET-CONFIG-EPOCH", Integer.toString(i + 1));
      if (i < SHARDS) {
        addSlots(nodes.get(i), i);
      }
      if (i > 0) {
        RedisServer first = nodes.get(0);
        String port = Integer.toString(first.port());
        nodes.get(i).call("CLUSTER", "MEET", first.host(), port, RedisNodes.busOf(first));
      }
    }
    awaitThat("know each other", () -> everyRunningNode(this::knowsAll));
    for (int i = SHARDS; i < nodes.size(); i++) {
      String master = (String) nodes.get(i % SHARDS).call("CLUSTER", "MYID");
      nodes.get(i).call("CLUSTER", "REPLICATE", String.valueOf(master));
    }
    awaitWhole();
  }

  private void addSlots(RedisServer node, int shard) throws IOException {
    List<String> command = new ArrayList<>(List.of("CLUSTER", "ADDSLOTS"));
    for (int slot = SLOTS * shard / SHARDS; slot < SLOTS * (shard + 1) / SHARDS; slot++) {
      command.add(Integer.toString(slot));
    }
    node.call(command.toArray(String[]::new));
  }

  /**
   * Waits until all nodes agree that all are present and serve, and each master has a successor.
   */
  void awaitWhole() {
    awaitThat(
        "agree on a whole cluster",
        () ->
            everyRunningNode(this::knowsAll)
                && everyRunningNode(RedisClusterView::seesAllSlotsServed)
                && everyReplicaInStep()
                && noReplicaRecentlyElected());
  }

  int shardOf(String key) {
    try {
      RedisServer running = runningNodes(nodes).get(0);
      Long slot = (Long) running.call("CLUSTER", "KEYSLOT", key);
      for (int shard = 0; shard < SHARDS; shard++) {
        if (slot != null && slot < (long) SLOTS * (shard + 1) / SHARDS) {
          return shard;
        }
      }
      throw new IOException("the key has no slot: " + slot);
    } catch (IOException | IndexOutOfBoundsException e) {
      throw new TestbedException("no node reports the slot of a key: " + e.getMessage(), e);
    }
  }

  List<RedisServer> shardWith(RedisServer node) {
    return shard(shardOf(node));
  }

  private int shardOf(RedisServer node) {
    int index = nodes.indexOf(node);
    if (index < 0) {
      throw new IllegalArgumentException(node + " does not belong to this cluster");
    }
    return index % SHARDS;
  }

  private List<RedisServer> shard(int shard) {
    List<RedisServer> members = new ArrayList<>();
    for (int i = shard; i < nodes.size(); i += SHARDS) {
      members.add(nodes.get(i));
    }
    return members;
  }

  RedisServer awaitMaster(int shard) {
    return await("have a master in shard " + (shard + 1), () -> master(shard));
  }

  /**
   * {@return whether no replica has recently won an election} Such a replica would count the votes
   * of that election in the next one, and become master with an outdated epoch. The shard would
   * then have no master.
   *
   * @see <a href="https://github.com/redis/redis/issues/8752">redis issue 8752</a>
   */
  private boolean noReplicaRecentlyElected() {
    return nodes.stream()
        .filter(node -> !masters.containsValue(node))
        .allMatch(this::wasNotRecentlyElected);
  }

  private boolean wasNotRecentlyElected(RedisServer node) {
    Long elected = electedAt.get(node);
    return elected == null || System.nanoTime() - elected > voteLifetime.toNanos();
  }

  RedisServer failOver(RedisServer master) {
    List<RedisServer> replicas = new ArrayList<>(runningNodes(shardWith(master)));
    replicas.remove(master);
    if (replicas.isEmpty()) {
      throw new TestbedException("no running replica could replace " + master.name());
    }
    RedisServer candidate = replicas.get(0);
    awaitThat(
        "forget the last election of " + candidate.name(), () -> wasNotRecentlyElected(candidate));
    awaitThat("accept a fail-over to " + candidate.name(), () -> failedOver(candidate, master));
    return awaitSuccessor(master);
  }

  /** Makes the candidate try once. An attempt takes at most 5 seconds. */
  private boolean failedOver(RedisServer candidate, RedisServer master) throws IOException {
    if (successor(master).isPresent()) {
      return true;
    }
    candidate.call("CLUSTER", "FAILOVER");
    return Waiting.answer(Duration.ofSeconds(6), () -> successor(master)).isPresent();
  }

  RedisServer awaitSuccessor(RedisServer old) {
    return await("replace " + old.name(), () -> successor(old));
  }

  private Optional<RedisServer> successor(RedisServer old) throws IOException {
    Optional<RedisServer> master = master(shardOf(old)).filter(node -> !node.equals(old));
    boolean allKnow =
        master.isPresent()
            && everyRunningNode(node -> seesServing(node, master.get()))
            && everyRunningNode(RedisClusterView::seesAllSlotsServed);
    return allKnow ? master : Optional.empty();
  }

  /** {@return the node that claims the shard's slots with the latest epoch; skips paused nodes} */
  private Optional<RedisServer> master(int shard) throws IOException {
    Optional<RedisServer> master = Optional.empty();
    long epoch = -1;
    for (RedisServer node : runningNodes(shard(shard))) {
      for (Line line : lines(node)) {
        if (line.flags().contains("myself") && line.isServingMaster() && line.epoch() > epoch) {
          master = Optional.of(node);
          epoch = line.epoch();
        }
      }
    }
    master.ifPresent(node -> recordMaster(shard, node));
    return master;
  }

  private void recordMaster(int shard, RedisServer node) {
    RedisServer before = masters.put(shard, node);
    if (before != null && !before.equals(node)) {
      electedAt.put(node, System.nanoTime());
    }
  }

  private interface NodeCheck {
    boolean of(RedisServer node) throws IOException;
  }

  private boolean everyRunningNode(NodeCheck check) throws IOException {
    for (RedisServer node : runningNodes(nodes)) {
      if (!check.of(node)) {
        return false;
      }
    }
    return true;
  }

  private boolean knowsAll(RedisServer node) throws IOException {
    List<Line> lines = lines(node);
    return lines.size() == nodes.size() && lines.stream().allMatch(Line::isHealthy);
  }

  private static boolean seesServing(RedisServer node, RedisServer master) throws IOException {
    return lines(node).stream()
        .anyMatch(l -> l.port() == master.port() && l.isServingMaster() && l.isHealthy());
  }

  private static boolean seesAllSlotsServed(RedisServer node) throws IOException {
    Object info = node.call("CLUSTER", "INFO");
    return RedisEndpoint.field(info, "cluster_state").equals("ok")
        && RedisEndpoint.field(info, "cluster_slots_ok").equals(Integer.toString(SLOTS));
  }

  /** {@return whether each replica has a live link to its master, and all nodes know of it} */
  private boolean everyReplicaInStep() throws IOException {
    for (int shard = 0; shard < SHARDS; shard++) {
      Optional<RedisServer> master = master(shard);
      if (master.isEmpty()) {
        return false;
      }
      for (RedisServer replica : shard(shard)) {
        if (!replica.equals(master.get())
            && !(replica.replicates(master.get())
                && everyRunningNode(node -> seesPair(node, master.get(), replica)))) {
          return false;
        }
      }
    }
    return true;
  }

  /** {@return whether a node knows the replica; a master ignores fail-overs of unknown ones} */
  private static boolean seesPair(RedisServer node, RedisServer master, RedisServer replica)
      throws IOException {
    String masterId = "";
    String followed = "";
    for (Line line : lines(node)) {
      if (line.port() == master.port()) {
        masterId = line.id();
      } else if (line.port() == replica.port()) {
        followed = line.master();
      }
    }
    return followed.equals(masterId);
  }

  private static List<RedisServer> runningNodes(List<RedisServer> nodes) {
    return nodes.stream().filter(node -> node.state() == State.RUNNING).toList();
  }

  private static List<Line> lines(RedisServer node) throws IOException {
    return String.valueOf(node.call("CLUSTER", "NODES")).lines().map(Line::parse).toList();
  }

  private void awaitThat(String what, Waiting.Condition condition) {
    await(what, () -> condition.holds() ? Optional.of(true) : Optional.empty());
  }

  private <T> T await(String what, Waiting.Question<T> question) {
    try {
      return Waiting.demand(LIMIT, "the cluster's nodes did not " + what, question);
    } catch (TestbedException e) {
      throw new TestbedException(e.getMessage() + System.lineSeparator() + views(), e);
    }
  }

  /** {@return each node's view of the cluster, and the end of its log} */
  private String views() {
    StringJoiner views = new StringJoiner(System.lineSeparator());
    for (RedisServer node : nodes) {
      views.add(node + " reports:");
      if (node.state() == State.RUNNING) {
        try {
          views.add(String.valueOf(node.call("CLUSTER", "NODES")).stripTrailing());
        } catch (IOException e) {
          views.add(e.toString());
        }
      }
      List<String> log = node.log().lines().toList();
      log.subList(Math.max(0, log.size() - LOG_LINES), log.size()).forEach(views::add);
    }
    return views.toString();
  }
}
