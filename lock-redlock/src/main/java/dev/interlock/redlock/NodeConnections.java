package dev.interlock.redlock;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.Server;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.exceptions.JedisDataException;

/** Connects to one node, and identifies its server process. */
final class NodeConnections implements Server {

  private static final Pattern LOADING = Pattern.compile("(?m)^loading:1");
  private static final Pattern RUN = Pattern.compile("(?m)^run_id:(\\w+)");
  private static final Pattern UPTIME = Pattern.compile("(?m)^uptime_in_seconds:(-?\\d+)");
  private static final Pattern ROLE = Pattern.compile("(?m)^role:(\\w+)");

  /** Valkey 8 and newer call it {@code server_mode}. */
  private static final Pattern MODE = Pattern.compile("(?m)^(?:redis|server)_mode:(\\w+)");

  private final String name;
  private final Supplier<? extends Connection> make;
  private final Failures failures;
  private final Map<String, String> nodeOfRun;
  private final int timeoutMillis;
  private final Runnable onConnect;

  /** The start of the server, by {@link System#nanoTime()}; wrong if its clock was set since. */
  private volatile long startedAt = System.nanoTime();

  /**
   * Creates the connections of one node.
   *
   * @param nodeOfRun the name of the node of each process; shared by all nodes of a client
   * @param timeout the time-out of a reply
   * @param onConnect runs before a new connection is used
   */
  NodeConnections(
      String name,
      Supplier<? extends Connection> make,
      Failures failures,
      Map<String, String> nodeOfRun,
      Duration timeout,
      Runnable onConnect) {
    this.name = name;
    this.make = make;
    this.failures = failures;
    this.nodeOfRun = nodeOfRun;
    this.timeoutMillis = Math.toIntExact(timeout.toMillis());
    this.onConnect = onConnect;
  }

  @Override
  public String name() {
    return name;
  }

  /** Connects, logs in, and identifies the server process. */
  @Override
  public Link connect() {
    Connection connection = make.get();
    boolean isIdentified = false;
    try {
      String run = identify(connection);
      failures.recordAdmission();
      isIdentified = true;
      return new Link(connection, run);
    } finally {
      if (!isIdentified) {
        connection.close();
      }
    }
  }

  @Override
  public void onConnected(String run) {
    onConnect.run();
  }

  /**
   * Returns the {@code run_id} of the server process, which changes with each start.
   *
   * @throws dev.interlock.LockConfigurationException if the server cannot be a node
   */
  private String identify(Connection connection) {
    if (connection.getSoTimeout() == 0) {
      throw failures.wrong(
          "the Jedis client waits for answers without limit; give it a finite"
              + " socketTimeoutMillis",
          null);
    }
    connection.setSoTimeout(timeoutMillis);
    connection.sendCommand(Command.INFO, "server");
    connection.sendCommand(Command.INFO, "replication");
    connection.sendCommand(Command.INFO, "persistence");
    List<Object> replies = connection.getMany(3);
    for (Object reply : replies) {
      if (reply instanceof JedisDataException refusal) {
        throw refusal;
      }
    }
    // It would answer a release, too, but with an error, and the lock would stay until its TTL.
    if (LOADING.matcher(new String((byte[]) replies.get(2), UTF_8)).find()) {
      throw new JedisDataException("LOADING according to INFO");
    }
    String server = new String((byte[]) replies.get(0), UTF_8);
    String mode = field(MODE, server);
    if (!mode.equals("standalone")) {
      throw failures.wrong("runs in mode " + mode + "; Redlock needs independent servers", null);
    }
    if (!field(ROLE, new String((byte[]) replies.get(1), UTF_8)).equals("master")) {
      throw failures.wrong(
          "is a replica; a node must be an independent primary without fail-over", null);
    }
    String run = field(RUN, server);
    startedAt = System.nanoTime() - TimeUnit.SECONDS.toNanos(Long.parseLong(field(UPTIME, server)));
    String other = nodeOfRun.putIfAbsent(run, name);
    if (other != null && !other.equals(name)) {
      throw failures.wrong("is the same server as " + other + "; its vote would count twice", null);
    }
    nodeOfRun.entrySet().removeIf(e -> e.getValue().equals(name) && !e.getKey().equals(run));
    return run;
  }

  /** Returns the server's uptime, as the server tells it; negative if its clock was set back. */
  long upMillis() {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedAt);
  }

  private String field(Pattern pattern, String info) {
    Matcher matcher = pattern.matcher(info);
    if (!matcher.find()) {
      throw failures.wrong("does not answer INFO as Redis does", null);
    }
    return matcher.group(1);
  }
}
