package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.UnsuitableSourceException;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.ServerSource;
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
 * <p>By default it writes an append-only file, so that its data survive {@link #kill()} and {@link
 * #restart()}. {@link #restartEmpty()} removes the data, but a cluster node keeps its identity and
 * slots, and a replica its role.
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
      String name, String source, RedisEndpoint endpoint, String uri, @Nullable Parts parts) {
    super(name, endpoint.host(), endpoint.port(), source, endpoint::ready, parts);
    this.endpoint = endpoint;
    this.uri = uri;
  }

  /** Starts a server, and waits until it answers. */
  static RedisServer launch(String name, String source, RedisEndpoint endpoint, Parts parts) {
    RedisServer server = new RedisServer(name, source, endpoint, endpoint.uri(), parts);
    server.start();
    return server;
  }

  /**
   * {@return the URI for clients, for example {@code redis://127.0.0.1:16379} or {@code
   * redis://:secret@127.0.0.1:16379}}
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
    throw new IOException("the reply to TIME is not a list");
  }

  /**
   * Sends one command over a new connection, without a driver.
   *
   * @return the reply as String, Long, List of replies, or null
   * @throws RedisReplyException if the server answered with an error
   * @throws IOException if it did not answer within 5 seconds
   */
  public @Nullable Object call(String... command) throws IOException {
    return endpoint.call(command);
  }

  /**
   * Returns all keys, each with the milliseconds until it expires, or -1 if it never does. It takes
   * one command, so the result is consistent, and many keys take no longer than a few.
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
   * Returns a field of INFO.
   *
   * @param section the section, for example {@code replication}
   * @param field the field, for example {@code role}
   * @throws IOException if the server does not answer within 5 seconds, or has no such field
   */
  public String info(String section, String field) throws IOException {
    return RedisEndpoint.field(call("INFO", section), field);
  }

  /**
   * Turns the server into a replica without a reachable master. It keeps its data and connections,
   * and answers writes with {@code READONLY}, as a primary does that was replaced while its address
   * still leads to it. Returns when the server reports the role.
   *
   * @throws IOException if the server does not change its role
   */
  public void demote() throws IOException {
    call("REPLICAOF", "127.0.0.1", "1");
    requireRole("slave");
  }

  /**
   * Turns the server into a primary again, after {@link #demote()}. Returns when the server reports
   * the role.
   *
   * @throws IOException if the server does not change its role
   */
  public void promote() throws IOException {
    call("REPLICAOF", "NO", "ONE");
    requireRole("master");
  }

  /**
   * Refuses all commands of its peers, and ends the connections of its replicas. Connections of
   * sentinels stay open, since a sentinel does not retry after a refused login.
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
      throw new TestbedException(
          name() + " did not execute a command about its peers: " + e.getMessage(), e);
    }
  }

  private void requireRole(String role) throws IOException {
    if (!info("replication", "role").equals(role)) {
      throw new IOException(name() + " reports another role than " + role);
    }
  }

  @Override
  public Optional<Path> caCertificate() {
    return endpoint.caCertificate();
  }

  /** {@return this server; empty for a named endpoint} */
  @Override
  public List<RedisServer> members() {
    return acceptsFaults() ? List.of(this) : List.of();
  }

  /** {@return this server; empty for a named endpoint} */
  @Override
  public List<RedisServer> leaders() {
    return members();
  }

  /** {@return whether this server is a replica with a live link to that master} */
  boolean replicates(RedisServer master) throws IOException {
    Object replication = call("INFO", "replication");
    return RedisEndpoint.field(replication, "role").equals("slave")
        && RedisEndpoint.field(replication, "master_port").equals(Integer.toString(master.port()))
        && RedisEndpoint.field(replication, "master_link_status").equals("up");
  }

  RedisEndpoint endpoint() {
    return endpoint;
  }

  /** The settings of one Redis server before it is started. */
  public static final class Builder extends RedisBuilder<Builder, RedisServer> {
    private @Nullable Duration ahead;

    public Builder() {
      super("Redis", "interlock.redis.uri");
    }

    /**
     * Gives the server a clock of its own, which {@link #setClock} sets. Requires Linux, a C
     * compiler, and a Redis program on this machine.
     *
     * @param ahead the first difference to the correct time, in whole seconds; negative for behind
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
    protected RedisServer launch(ServerSource source) throws UnsuitableSourceException {
      RedisNodes correct = nodes(source);
      RedisNodes nodes = ahead == null ? correct : correct.withClock(ahead);
      return retryOnBindConflict(() -> nodes.startServer("redis"));
    }
  }
}
