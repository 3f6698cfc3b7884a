package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.UnsuitableSourceException;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer.State;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.ServerSource;
import dev.interlock.testbed.server.Servers;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A Redis master with one replica, watched by three sentinels that promote the replica when the
 * master fails. The members are the data servers: first the one that started as master, then the
 * other.
 *
 * <p>The URI lists the sentinels, and the master's name, for example {@code
 * redis-sentinel://127.0.0.1:10001,127.0.0.1:10002,127.0.0.1:10003/mymaster}. A password is that of
 * the data servers; the sentinels have none.
 *
 * <p>Replication is asynchronous, so the new master may lack the last acknowledged writes.
 */
public final class RedisSentinels extends RedisDeployment {
  private static final String SCHEME = "redis-sentinel";
  private static final String MASTER_NAME = "mymaster";
  private static final int SENTINELS = 3;

  private final List<RedisServer> sentinels;

  private RedisSentinels(
      List<RedisServer> members, List<RedisServer> sentinels, @Nullable PeerGates gates) {
    super(members, SCHEME, sentinels, "/" + MASTER_NAME, gates);
    this.sentinels = sentinels;
  }

  private RedisSentinels(EndpointUri uri) throws IOException {
    super(uri);
    this.sentinels = List.of();
  }

  /** {@return the sentinels, into which faults can be injected, too} */
  public List<RedisServer> sentinels() {
    return sentinels;
  }

  /**
   * Returns the server that is master by its own report and by that of a majority of sentinels.
   *
   * @throws TestbedException if there is no such server within a minute
   */
  public RedisServer master() {
    requireOurs();
    return await("agree on a master that serves", this::agreedMaster);
  }

  /**
   * Makes the sentinels replace the master by a replica ({@code SENTINEL FAILOVER}). For a while
   * both are masters. Writes to the old one in that time are lost when it becomes a replica.
   *
   * @return the new master, on which the sentinels agree, and which the old one follows
   * @throws TestbedException if it takes longer than a minute
   */
  public RedisServer failOver() {
    RedisServer old = master();
    RedisServer successor =
        await(
            "replace " + old.name() + " by SENTINEL FAILOVER",
            () -> {
              RedisServer sentinel = firstRunning();
              // Sentinels refuse a fail-over during another one and for a while after it, and while
              // they know no replica in step. They do not repeat one that they have aborted.
              if (isMasterFor(sentinel, old)) {
                sentinel.call("SENTINEL", "FAILOVER", MASTER_NAME);
              }
              return agreedMaster().filter(master -> !master.equals(old));
            });
    awaitThat(
        "turn the old master into a replica",
        () -> "slave".equals(old.info("replication", "role")));
    return successor;
  }

  /**
   * Waits until the sentinels have replaced a master that was paused or killed.
   *
   * @return the new master, on which they agree
   * @throws TestbedException if it takes longer than a minute
   */
  public RedisServer awaitFailOver(RedisServer lost) {
    return await(
        "replace " + lost.name(), () -> agreedMaster().filter(master -> !master.equals(lost)));
  }

  /** {@return the master; empty for a named endpoint} */
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
  protected List<RedisServer> servers() {
    return Stream.concat(sentinels.stream(), members().stream()).toList();
  }

  @Override
  protected void awaitWhole() {
    sentinels.forEach(RedisSentinels::shortenIntervals);
    awaitThat("see the replicas follow one master", this::isWhole);
  }

  /**
   * Shortens the intervals of a sentinel, as Redis 7 allows. By default sentinels query replicas
   * every 10 s, and need 8 s to turn a former master into a replica: four intervals in which they
   * announce themselves.
   */
  private static void shortenIntervals(RedisServer sentinel) {
    try {
      sentinel.call("SENTINEL", "DEBUG", "INFO-PERIOD", "500", "PUBLISH-PERIOD", "250");
    } catch (RedisReplyException unknown) {
      // an earlier Redis
    } catch (IOException e) {
      throw new TestbedException(sentinel.name() + " does not answer: " + e.getMessage(), e);
    }
  }

  private RedisServer firstRunning() throws IOException {
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
      if (sentinel.state() == State.RUNNING && isMasterFor(sentinel, server)) {
        votes++;
      }
    }
    return votes;
  }

  private static boolean isMasterFor(RedisServer sentinel, RedisServer server) throws IOException {
    return List.of(server.host(), Integer.toString(server.port()))
        .equals(sentinel.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER_NAME));
  }

  /**
   * {@return whether all data servers follow one master, and every sentinel knows all servers and
   * sentinels and counts none as down} Otherwise a fail-over may find no voters or no candidate.
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
    Map<String, String> master = describe(sentinel, "MASTER").get(0);
    List<Map<String, String>> replicas = describe(sentinel, "REPLICAS");
    List<Map<String, String>> peers = describe(sentinel, "SENTINELS");
    return "master".equals(master.get("flags"))
        && replicas.size() == members().size() - 1
        && replicas.stream().allMatch(r -> isHealthyReplica(r))
        && peers.size() == SENTINELS - 1
        && peers.stream().allMatch(f -> "sentinel".equals(f.get("flags")));
  }

  private static List<Map<String, String>> describe(RedisServer sentinel, String about)
      throws IOException {
    Object reply = sentinel.call("SENTINEL", about, MASTER_NAME);
    List<Map<String, String>> maps = new ArrayList<>();
    for (Object each : about.equals("MASTER") ? List.of(reply) : RedisEndpoint.list(reply)) {
      maps.add(RedisEndpoint.map(each));
    }
    return maps;
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

  /** The settings of the servers and sentinels before they are started. */
  public static final class Builder extends RedisBuilder<Builder, RedisSentinels> {
    private Duration downAfter = Duration.ofSeconds(1);

    public Builder() {
      super("Redis with sentinels", "interlock.redis.sentinel.uri");
    }

    /**
     * Sets the time after which a silent server counts as down ({@code down-after-milliseconds}), 1
     * s by default.
     *
     * @throws IllegalArgumentException if it is not positive
     */
    public Builder downAfter(Duration silence) {
      if (silence.isZero() || silence.isNegative()) {
        throw new IllegalArgumentException(
            "the time until a server counts as down must be positive, not " + silence);
      }
      this.downAfter = silence;
      return this;
    }

    /**
     * Makes it possible to {@linkplain Deployment#cutOff cut off} the master from the others.
     * Clients then need a password, which the URI contains.
     */
    public Builder separable() {
      return makeSeparable();
    }

    @Override
    protected RedisSentinels named(String text) throws IOException {
      return new RedisSentinels(EndpointUri.parse(text, SCHEME, RedisEndpoint.PORT));
    }

    @Override
    protected RedisSentinels launch(ServerSource source) throws UnsuitableSourceException {
      RedisNodes nodes = nodes(source);
      List<RedisServer> started = new ArrayList<>();
      return Servers.startAll(
          2 + SENTINELS,
          i -> {
            started.add(retryOnBindConflict(() -> start(i, nodes, started)));
            return started.get(i);
          },
          all -> {
            List<RedisServer> members = all.subList(0, 2);
            List<RedisServer> sentinels = all.subList(2, all.size());
            PeerGates gates = isSeparable() ? new PeerGates() : null;
            RedisSentinels redis = new RedisSentinels(members, sentinels, gates);
            redis.heal();
            return redis;
          });
    }

    /** Starts a server or a sentinel. The first server is the master of the others. */
    private RedisServer start(int number, RedisNodes nodes, List<RedisServer> started) {
      if (number == 0) {
        return nodes.startServer("redis-master");
      }
      RedisServer master = started.get(0);
      return number == 1
          ? nodes.startServer("redis-replica-1", "replicaof " + master.host() + " " + master.port())
          : nodes.startSentinel("redis-sentinel-" + (number - 1), monitor(master));
    }

    private List<String> monitor(RedisServer master) {
      List<String> lines = new ArrayList<>();
      int quorum = SENTINELS / 2 + 1;
      lines.add(
          String.format(
              "sentinel monitor %s %s %s %s", MASTER_NAME, master.host(), master.port(), quorum));
      lines.add("sentinel down-after-milliseconds " + MASTER_NAME + " " + downAfter.toMillis());
      // Sentinels retry after twice this time, so that a split vote costs little.
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
  }
}
