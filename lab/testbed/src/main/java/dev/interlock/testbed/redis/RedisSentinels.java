package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.UnsuitableWayException;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer.State;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.Servers;
import dev.interlock.testbed.server.Way;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A Redis master with one replica, watched by three sentinels that put the replica in its place
 * when it fails. The members are the data servers: first the one that began as master, then the
 * other.
 *
 * <p>The URI has the sentinels, and the name that they have for the master, for example {@code
 * redis-sentinel://127.0.0.1:10001,127.0.0.1:10002,127.0.0.1:10003/mymaster}. The password, if
 * there is one, is the data servers'; the sentinels ask for none.
 *
 * <p>Replication is asynchronous: what the lost master had acknowledged last may be missing on the
 * new one.
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

  /** {@return the sentinels, which may be hurt too} */
  public List<RedisServer> sentinels() {
    return sentinels;
  }

  /**
   * The server that the majority of all sentinels calls the master, and that says so itself.
   *
   * @throws TestbedException if there is none within a minute
   */
  public RedisServer master() {
    requireOurs();
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
    RedisServer successor =
        await(
            "replace " + old.name() + " when told to",
            () -> {
              RedisServer told = first();
              // They refuse while one is under way, for a while after it, and while they know of no
              // replica in step. One that they give up they do not begin again by themselves.
              if (isMasterFor(told, old)) {
                told.call("SENTINEL", "FAILOVER", MASTER_NAME);
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
  protected List<RedisServer> servers() {
    return Stream.concat(sentinels.stream(), members().stream()).toList();
  }

  @Override
  protected void awaitWhole() {
    sentinels.forEach(RedisSentinels::hasten);
    awaitThat("see the replicas follow one master", this::isWhole);
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
    Map<String, String> master = told(sentinel, "MASTER").get(0);
    List<Map<String, String>> replicas = told(sentinel, "REPLICAS");
    List<Map<String, String>> fellows = told(sentinel, "SENTINELS");
    return "master".equals(master.get("flags"))
        && replicas.size() == members().size() - 1
        && replicas.stream().allMatch(r -> isHealthyReplica(r))
        && fellows.size() == SENTINELS - 1
        && fellows.stream().allMatch(f -> "sentinel".equals(f.get("flags")));
  }

  private static List<Map<String, String>> told(RedisServer sentinel, String about)
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

  /** What is wanted of the servers and sentinels before they are started. */
  public static final class Builder extends RedisBuilder<Builder, RedisSentinels> {
    private Duration downAfter = Duration.ofSeconds(1);

    public Builder() {
      super("Redis with sentinels", "interlock.redis.sentinel.uri");
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
    protected RedisSentinels named(String text) throws IOException {
      return new RedisSentinels(EndpointUri.parse(text, SCHEME, RedisEndpoint.PORT));
    }

    @Override
    protected RedisSentinels launch(Way way) throws UnsuitableWayException {
      RedisNodes nodes = nodes(way);
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

    /** The first server is the master, which its replicas and the sentinels have to know. */
    private RedisServer start(int number, RedisNodes nodes, List<RedisServer> before) {
      if (number == 0) {
        return nodes.startServer("redis-master");
      }
      RedisServer master = before.get(0);
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
  }
}
