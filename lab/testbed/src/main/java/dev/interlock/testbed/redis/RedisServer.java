package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.UnsuitableWayException;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.Way;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One Redis server, alone or as a member of a larger deployment.
 *
 * <p>Unless told otherwise it keeps an append-only file, so that {@link #restart()} brings its data
 * back even after {@link #kill()}. With {@link #restartEmpty()} the data set goes; a cluster node
 * keeps its identity and its slots, a replica its role.
 */
public final class RedisServer extends DisposableServer implements Deployment {
  private static final String KEYS_AND_TIMES =
      """
      local found = {}
      for _, key in ipairs(redis.call('KEYS', '*')) do
        found[#found + 1] = key
        found[#found + 1] = redis.call('PTTL', key)
      end
      return found""";

  private final RedisEndpoint endpoint;
  private final String uri;

  private RedisServer(
      String name, String how, RedisEndpoint endpoint, String uri, @Nullable Parts parts) {
    super(name, endpoint.host(), endpoint.port(), how, endpoint::ready, parts);
    this.endpoint = endpoint;
    this.uri = uri;
  }

  /** Starts a server of our own and waits until it answers. */
  static RedisServer launch(String name, String how, RedisEndpoint endpoint, Parts parts) {
    RedisServer server = new RedisServer(name, how, endpoint, endpoint.uri(), parts);
    server.start();
    return server;
  }

  /**
   * Where clients connect, for example {@code redis://127.0.0.1:16379} or {@code
   * redis://:secret@127.0.0.1:16379}.
   */
  @Override
  public String uri() {
    return uri;
  }

  @Override
  protected String askVersion() throws IOException {
    return endpoint.version();
  }

  @Override
  protected long askTime() throws IOException {
    if (call("TIME") instanceof List<?> time) {
      return Long.parseLong(String.valueOf(time.get(0)));
    }
    throw new IOException("TIME has no list for an answer");
  }

  /**
   * Sends one command over a new connection, without a driver: so a test asks the server itself.
   *
   * @return the reply as String, Long, List of replies, or null
   * @throws RedisReplyException if the server answered with an error
   * @throws IOException if it did not answer within 5 seconds
   */
  public @Nullable Object call(String... command) throws IOException {
    return endpoint.call(command);
  }

  /**
   * All keys, each with the milliseconds until it expires, or -1 if it never does. In one command:
   * what is seen is one moment, and ten thousand keys take no longer than a few.
   *
   * @throws IOException if the server does not answer within 5 seconds
   */
  public Map<String, Long> keys() throws IOException {
    Map<String, Long> keys = new LinkedHashMap<>();
    if (call("EVAL", KEYS_AND_TIMES, "0") instanceof List<?> reply) {
      for (int i = 0; i < reply.size(); i += 2) {
        keys.put((String) reply.get(i), (Long) reply.get(i + 1));
      }
    }
    return keys;
  }

  /**
   * One field of what the server tells about itself.
   *
   * @param section a section of INFO, for example {@code replication}
   * @param field for example {@code role}
   * @throws IOException if the server does not answer within 5 seconds, or has no such field
   */
  public String info(String section, String field) throws IOException {
    return RedisEndpoint.field(call("INFO", section), field);
  }

  /**
   * Makes a replica of the server, without a master: it keeps its data and its connections, and
   * answers whatever would change something by {@code READONLY}, as a primary does that has been
   * replaced behind an address which still leads to it. Returns when the server says so.
   *
   * @throws IOException if the server does not do it
   */
  public void demote() throws IOException {
    call("REPLICAOF", "127.0.0.1", "1");
    requireRole("slave");
  }

  /**
   * Makes it a primary again, after {@link #demote()}. Returns when the server says so.
   *
   * @throws IOException if the server does not do it
   */
  public void promote() throws IOException {
    call("REPLICAOF", "NO", "ONE");
    requireRole("master");
  }

  /**
   * Refuses all commands of its peers, and ends the connections on which replicas receive writes.
   * Sentinels keep theirs, as they would not try again on one that was refused at its login.
   */
  void refusePeers() {
    tellOfPeers("ACL", "SETUSER", RedisConfig.PEER, "-@all");
    tellOfPeers("CLIENT", "KILL", "TYPE", "replica");
  }

  /** Ends {@link #refusePeers}. */
  void admitPeers() {
    tellOfPeers("ACL", "SETUSER", RedisConfig.PEER, "+@all");
  }

  private void tellOfPeers(String... command) {
    try {
      call(command);
    } catch (IOException e) {
      throw new TestbedException(name() + " does not obey: " + e.getMessage(), e);
    }
  }

  private void requireRole(String role) throws IOException {
    if (!info("replication", "role").equals(role)) {
      throw new IOException(name() + " has not become a " + role);
    }
  }

  @Override
  public Optional<Path> caCertificate() {
    return endpoint.caCertificate();
  }

  /** This server itself; empty if it is a named endpoint. */
  @Override
  public List<RedisServer> members() {
    return canBeHurt() ? List.of(this) : List.of();
  }

  /** This server itself; empty if it is a named endpoint. */
  @Override
  public List<RedisServer> leaders() {
    return members();
  }

  /** Whether this server is a replica whose link to that master is up. */
  boolean replicates(RedisServer master) throws IOException {
    Object replication = call("INFO", "replication");
    return RedisEndpoint.field(replication, "role").equals("slave")
        && RedisEndpoint.field(replication, "master_port").equals(Integer.toString(master.port()))
        && RedisEndpoint.field(replication, "master_link_status").equals("up");
  }

  RedisEndpoint endpoint() {
    return endpoint;
  }

  /** What is wanted of one Redis server before it is started. */
  public static final class Builder extends RedisBuilder<Builder, RedisServer> {
    private @Nullable Duration ahead;

    public Builder() {
      super("Redis", "interlock.redis.uri");
    }

    /**
     * Gives the server a clock of its own, which {@link #setClock} sets. Takes Linux, a C compiler,
     * and a Redis program of this machine.
     *
     * @param ahead by how much it is ahead at first, in whole seconds; negative for behind
     */
    public Builder clockAhead(Duration ahead) {
      this.ahead = ahead;
      return this;
    }

    @Override
    protected boolean isConfigured() {
      return ahead != null || super.isConfigured();
    }

    @Override
    protected RedisServer named(String text) {
      EndpointUri uri = EndpointUri.parse(text, "redis", RedisEndpoint.PORT);
      RedisServer server =
          new RedisServer("redis", "endpoint " + uri, RedisEndpoint.of(uri), text, null);
      server.start();
      return server;
    }

    @Override
    protected RedisServer launch(Way way) throws UnsuitableWayException {
      RedisNodes right = nodes(way);
      RedisNodes nodes = ahead == null ? right : right.withClock(ahead);
      return retryOnBindConflict(() -> nodes.startServer("redis"));
    }
  }
}
