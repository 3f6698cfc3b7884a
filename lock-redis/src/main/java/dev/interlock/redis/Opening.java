package dev.interlock.redis;

import dev.interlock.LockException;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Deadline;
import java.util.Collection;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/** Opens a backend. Refuses servers and settings that cannot work, and gives the reason. */
final class Opening {

  private static final Logger log = LoggerFactory.getLogger(Opening.class);

  private final RedisTopology topology;
  private final String endpoint;
  private final boolean tls;
  private final RedisSettings settings;
  private final BackendContext context;
  private final Failures failures;

  Opening(
      RedisTopology topology,
      String endpoint,
      boolean tls,
      RedisSettings settings,
      BackendContext context) {
    this.topology = topology;
    this.endpoint = endpoint;
    this.tls = tls;
    this.settings = settings;
    this.context = context;
    this.failures = new Failures(topology.info().name(), endpoint, tls);
  }

  static String endpoint(Collection<HostAndPort> addresses) {
    return addresses.stream().map(HostAndPort::toString).collect(Collectors.joining(","));
  }

  Failures failures() {
    return failures;
  }

  /**
   * Opens a backend. Closes the nodes again if that fails.
   *
   * @param connector creates the nodes, and may already connect
   */
  RedisBackend on(Supplier<Nodes> connector) {
    Nodes nodes;
    try {
      nodes = connector.get();
    } catch (JedisException e) {
      throw failures.explainOpening(e);
    }
    try {
      String server = greet(nodes);
      // A Jedis client does not tell its address, but its connections do.
      String display = topology == RedisTopology.SINGLE ? server : endpoint;
      Failures failuresOfRequests = new Failures(topology.info().name(), display, tls);
      failuresOfRequests.recordAdmission();
      return new RedisBackend(topology, display, nodes, settings, failuresOfRequests);
    } catch (LockException e) {
      nodes.close();
      throw e;
    }
  }

  /** Checks that a server answers and is of the right kind. Returns its address. */
  private String greet(Nodes nodes) {
    Deadline deadline = Deadline.in(context.time(), context.options().requestTimeout());
    try {
      return nodes.call(LockKeys.of(settings.namespace(), "hello"), deadline, true, this::greet);
    } catch (JedisException e) {
      throw failures.explainOpening(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failures.passing("interrupted while connecting", e);
    }
  }

  private String greet(Wire wire) {
    if (wire.waitsWithoutLimit()) {
      throw failures.wrong(
          "the Jedis client waits for answers without limit; give it a finite"
              + " socketTimeoutMillis",
          null);
    }
    wire.ping();
    Map<String, Object> server;
    try {
      server = wire.hello();
    } catch (JedisDataException e) {
      log.debug("the server does not know HELLO", e);
      return address(wire);
    }
    if ("sentinel".equals(server.get("mode"))) {
      throw failures.wrong("is a sentinel; use redis-sentinel://host:26379/mymaster", null);
    }
    return address(wire);
  }

  private String address(Wire wire) {
    try {
      return wire.address().toString();
    } catch (ClassCastException e) { // a Jedis client with the caller's socket factory
      return endpoint;
    }
  }
}
