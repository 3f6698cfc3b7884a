package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.UnsuitableWayException;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.DisposableServer.State;
import dev.interlock.testbed.server.Servers;
import dev.interlock.testbed.server.Way;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A Redis master with replicas (one, unless told otherwise), watched by three sentinels that put a
 * replica in its place when it fails.
 *
 * <p>Replication is asynchronous: what the lost master had acknowledged last may be missing on the
 * new one.
 */
public final class RedisSentinels extends RedisDeployment {
  private static final String MASTER_NAME = "mymaster";
  private static final int SENTINELS = 3;
  private static final Duration LIMIT = Duration.ofMinutes(1);

  private final List<RedisServer> sentinels;
  private final boolean separable;

  private RedisSentinels(RedisGroup group, List<RedisServer> sentinels, boolean separable) {
    super(group);
    this.sentinels = sentinels;
    this.separable = separable;
  }

  /**
   * Where clients connect: the sentinels, and the name that they have for the master, for example
   * {@code redis-sentinel://127.0.0.1:10001,127.0.0.1:10002,127.0.0.1:10003/mymaster}. The
   * password, if there is one, is the data servers'; the sentinels ask for none.
   */
  @Override
  public String uri() {
    return group.uri();
  }

  /** The data servers: first the one that began as master, then those that began as replicas. */
  @Override
  public List<RedisServer> members() {
    return group.members();
  }

  /** The sentinels, which may be hurt too. */
  public List<RedisServer> sentinels() {
    return sentinels;
  }

  /**
   * The server that the majority of all sentinels calls the master, and that says so itself.
   *
   * @throws TestbedException if there is none within a minute
   */
  public RedisServer master() {
    group.requireOurs();
    return await("agree on a master that serves", this::agreedMaster);
  }

  /**
   * Has the sentinels replace the master by a replica ({@code SENTINEL FAILOVER}). For a while both
   * are masters; what the old one takes on then is gone when it follows the new one.
   *
   * @return the new master, on which the sentinels agree by then, and which the old one follows
   * @throws TestbedException if they do not, within a minute
   */
  public RedisServer failOver() {
    RedisServer old = master();
    // Sentinels refuse for a while after a fail-over, and while they know of no replica in step.
    awaitThat(
        "begin a fail-over", () -> "OK".equals(first().call("SENTINEL", "FAILOVER", MASTER_NAME)));
    RedisServer successor = awaitFailOver(old);
    awaitThat(
        "turn the old master into a replica",
        () -> "slave".equals(old.info("replication", "role")));
    return successor;
  }

  /**
   * Waits until the sentinels have replaced a master that was paused or killed.
   *
   * @return the new master, on which they agree by then
   * @throws TestbedException if it takes longer than a minute
   */
  public RedisServer awaitFailOver(RedisServer lost) {
    return await(
        "replace " + lost.name(), () -> agreedMaster().filter(master -> !master.equals(lost)));
  }

  /** The master; empty if it is a named endpoint. */
  @Override
  public List<RedisServer> leaders() {
    return members().isEmpty() ? List.of() : List.of(master());
  }

  @Override
  public boolean canChangeLeader() {
    return !members().isEmpty();
  }

  /** Replaces the master, as {@link #failOver()} does. */
  @Override
  public void changeLeader() {
    failOver();
  }

  @Override
  public boolean canCutOff() {
    return separable;
  }

  /** The server refuses its replicas and the sentinels; a replica goes on following the master. */
  @Override
  public void cutOff(DisposableServer member) {
    separable(member).refusePeers();
  }

  @Override
  public void reconnect(DisposableServer member) {
    separable(member).admitPeers();
  }

  private RedisServer separable(DisposableServer member) {
    if (!separable) {
      throw new UnsupportedOperationException("the servers were not started as separable()");
    }
    return (RedisServer) member;
  }

  @Override
  public void heal() {
    Stream.concat(members().stream(), sentinels.stream()).forEach(DisposableServer::heal);
    if (separable) {
      members().forEach(this::reconnect);
    }
    if (!members().isEmpty()) {
      sentinels.forEach(RedisSentinels::hasten);
      awaitThat("see the replicas follow one master", this::isWhole);
    }
  }

  @Override
  public void close() {
    Servers.closeAll(Stream.concat(sentinels.stream(), members().stream()).toList());
  }

  /** The servers' addresses and origin; no password. */
  @Override
  public String toString() {
    return group + ", sentinels " + sentinels;
  }

  /**
   * Sentinels look at replicas every 10 s only, and take 8 s to turn a returning master into a
   * replica, which is four of the periods in which they make themselves known. Redis 7 lets tests
   * shorten that; with an earlier one it just takes longer.
   */
  private static void hasten(RedisServer sentinel) {
    try {
      sentinel.call("SENTINEL", "DEBUG", "INFO-PERIOD", "500", "PUBLISH-PERIOD", "250");
    } catch (RedisReplyException unknown) {
      // an earlier Redis
    } catch (IOException e) {
      throw new TestbedException(sentinel.name() + " does not answer: " + e.getMessage(), e);
    }
  }

  private RedisServer first() throws IOException {
    return sentinels.stream()
        .filter(s -> s.state() == State.RUNNING)
        .findFirst()
        .orElseThrow(() -> new IOException("no sentinel runs"));
  }

  private Optional<RedisServer> agreedMaster() throws IOException {
    for (RedisServer server : members()) {
      if (server.state() == State.RUNNING
          && votesFor(server) > SENTINELS / 2
          && server.info("replication", "role").equals("master")) {
        return Optional.of(server);
      }
    }
    return Optional.empty();
  }

  private int votesFor(RedisServer server) throws IOException {
    int votes = 0;
    for (RedisServer sentinel : sentinels) {
      if (sentinel.state() == State.RUNNING) {
        Object address = sentinel.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER_NAME);
        if (List.of(server.host(), Integer.toString(server.port())).equals(address)) {
          votes++;
        }
      }
    }
    return votes;
  }

  /**
   * All data servers follow one master, and every sentinel knows them and its fellows, none of them
   * down: only then is a fail-over sure to find voters and a candidate.
   */
  private boolean isWhole() throws IOException {
    Optional<RedisServer> master = agreedMaster();
    if (master.isEmpty()) {
      return false;
    }
    for (RedisServer server : members()) {
      if (!server.equals(master.get()) && !server.replicates(master.get())) {
        return false;
      }
    }
    for (RedisServer sentinel : sentinels) {
      if (!isWholeFor(sentinel)) {
        return false;
      }
    }
    return true;
  }

  private boolean isWholeFor(RedisServer sentinel) throws IOException {
    Map<String, String> master = RedisReplies.map(sentinel.call("SENTINEL", "MASTER", MASTER_NAME));
    List<Map<String, String>> replicas =
        RedisReplies.maps(sentinel.call("SENTINEL", "REPLICAS", MASTER_NAME));
    List<Map<String, String>> fellows =
        RedisReplies.maps(sentinel.call("SENTINEL", "SENTINELS", MASTER_NAME));
    return "master".equals(master.get("flags"))
        && replicas.size() == members().size() - 1
        && replicas.stream().allMatch(r -> isHealthyReplica(r))
        && fellows.size() == SENTINELS - 1
        && fellows.stream().allMatch(f -> "sentinel".equals(f.get("flags")));
  }

  private static boolean isHealthyReplica(Map<String, String> replica) {
    return "slave".equals(replica.get("flags")) && "ok".equals(replica.get("master-link-status"));
  }

  private static void awaitThat(String what, Waiting.Condition condition) {
    Waiting.demandThat(LIMIT, "the sentinels did not " + what, condition);
  }

  private static <T> T await(String what, Waiting.Question<T> question) {
    return Waiting.demand(LIMIT, "the sentinels did not " + what, question);
  }

  /** What is wanted of the servers and sentinels before they are started. */
  public static final class Builder extends RedisBuilder<Builder, RedisSentinels> {
    private int replicas = 1;
    private Duration downAfter = Duration.ofSeconds(1);

    public Builder() {
      super("Redis with sentinels");
    }

    /**
     * Sets the number of replicas, 1 by default.
     *
     * @throws IllegalArgumentException if it is not positive
     */
    public Builder replicas(int replicas) {
      if (replicas <= 0) {
        throw new IllegalArgumentException("there must be at least one replica, not " + replicas);
      }
      this.replicas = replicas;
      return this;
    }

    /**
     * Sets how long a server is silent before a sentinel calls it down ({@code
     * down-after-milliseconds}), 1 s by default.
     *
     * @throws IllegalArgumentException if it is not positive
     */
    public Builder downAfter(Duration silence) {
      if (silence.isZero() || silence.isNegative()) {
        throw new IllegalArgumentException("the silence must be positive, not " + silence);
      }
      this.downAfter = silence;
      return this;
    }

    /**
     * Lets the master be {@linkplain Deployment#cutOff cut off} from the others. Clients then need
     * a password, which the URI has.
     */
    public Builder separable() {
      return separated();
    }

    @Override
    protected RedisSentinels startBy(Way way) throws UnsuitableWayException {
      if (way == Way.ENDPOINT) {
        RedisGroup named =
            RedisGroup.named(namedEndpoint("interlock.redis.sentinel.uri"), "redis-sentinel");
        return new RedisSentinels(named, List.of(), false);
      }
      RedisNodes nodes = nodes(way);
      List<RedisServer> started = new ArrayList<>();
      try {
        RedisServer master = retryOnBindConflict(() -> nodes.startServer("redis-master"));
        started.add(master);
        started.addAll(
            Servers.startAll(
                replicas, i -> retryOnBindConflict(() -> startReplica(nodes, i + 1, master))));
        List<RedisServer> members = List.copyOf(started);
        List<RedisServer> sentinels =
            Servers.startAll(
                SENTINELS,
                i ->
                    retryOnBindConflict(
                        () -> nodes.startSentinel("redis-sentinel-" + (i + 1), monitor(master))));
        started.addAll(sentinels);
        RedisGroup group = RedisGroup.of(members, "redis-sentinel", sentinels, "/" + MASTER_NAME);
        RedisSentinels all = new RedisSentinels(group, sentinels, isSeparable());
        all.heal();
        return all;
      } catch (RuntimeException e) {
        Servers.closeAfter(e, started);
        throw e;
      }
    }

    private static RedisServer startReplica(RedisNodes nodes, int number, RedisServer master) {
      return nodes.startServer(
          "redis-replica-" + number, "replicaof " + master.host() + " " + master.port());
    }

    private List<String> monitor(RedisServer master) {
      List<String> lines = new ArrayList<>();
      int quorum = SENTINELS / 2 + 1;
      lines.add(
          String.format(
              "sentinel monitor %s %s %d %d", MASTER_NAME, master.host(), master.port(), quorum));
      lines.add("sentinel down-after-milliseconds " + MASTER_NAME + " " + downAfter.toMillis());
      // Another try is made after twice this time, so an attempt that splits the votes costs
      // little.
      lines.add("sentinel failover-timeout " + MASTER_NAME + " " + 5 * downAfter.toMillis());
      String password = master.endpoint().password();
      if (isSeparable()) {
        lines.add("sentinel auth-user " + MASTER_NAME + " " + RedisConfig.PEER);
        lines.add("sentinel auth-pass " + MASTER_NAME + " " + RedisConfig.PEER);
      } else if (password != null) {
        lines.add("sentinel auth-pass " + MASTER_NAME + " " + RedisConfig.quote(password));
      }
      return lines;
    }

    @Override
    protected Builder self() {
      return this;
    }
  }
}
