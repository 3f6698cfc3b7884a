package dev.interlock.redlock;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.redis.server.JedisVersion;
import dev.interlock.redlock.Cluster.Place;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import redis.clients.jedis.Connection;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisConnectionException;

/**
 * Opens lock clients that use Jedis clients of the program, one for each node.
 *
 * <pre>{@code
 * List<UnifiedJedis> nodes = Stream.of("host1", "host2", "host3")
 *     .<UnifiedJedis>map(host -> RedisClient.create(host, 6379))
 *     .toList();
 * try (LockClient locks = RedlockLocks.using(nodes)) {
 *   ...
 * }
 * }</pre>
 *
 * <p>The lock client never closes the Jedis clients, which must outlive it. It makes one connection
 * to each node, and one more while a thread waits for a lock. These are made with the settings of
 * the Jedis clients, whose pools do not count them. Each Jedis client must be a {@link
 * RedisClient}: other kinds choose among several servers, but a vote must come from the same server
 * every time.
 *
 * <p>Requires Jedis 8.
 */
public final class RedlockLocks {

  private RedlockLocks() {}

  /**
   * Opens a client with default settings and options.
   *
   * @param nodes a client of each node; with finite socket time-outs
   * @return a new client
   * @throws LockConfigurationException if a server cannot be a node, or if Jedis is older than
   *     version 8
   * @throws dev.interlock.LockUnavailableException if no majority answers
   */
  public static LockClient using(List<? extends UnifiedJedis> nodes) {
    return using(nodes, RedlockSettings.defaults(), LockOptions.defaults());
  }

  /**
   * Opens a client.
   *
   * @param nodes a client of each node; with finite socket time-outs
   * @param settings the settings of the locks on the nodes
   * @param options the defaults for every lock of the client
   * @return a new client
   * @throws LockConfigurationException if a server cannot be a node, or if Jedis is older than
   *     version 8
   * @throws dev.interlock.LockUnavailableException if no majority answers
   */
  public static LockClient using(
      List<? extends UnifiedJedis> nodes, RedlockSettings settings, LockOptions options) {
    List<UnifiedJedis> copy = List.copyOf(nodes);
    Objects.requireNonNull(settings, "settings");
    JedisVersion.require();
    return LockClient.using(context -> backend(copy, settings, context), options);
  }

  private static LockBackend backend(
      List<UnifiedJedis> nodes, RedlockSettings settings, BackendContext context) {
    List<RedisClient> clients = new ArrayList<>();
    for (UnifiedJedis node : nodes) {
      if (!(node instanceof RedisClient client)) {
        throw new LockConfigurationException(
            "redlock: a node must be one server, a RedisClient, not a "
                + node.getClass().getSimpleName());
      }
      clients.add(client);
    }
    List<String> names =
        Addresses.of(
            clients.stream().map(RedlockLocks::connecting).toList(),
            context.options().requestTimeout());
    List<Place> places = new ArrayList<>();
    for (int node = 0; node < clients.size(); node++) {
      Supplier<Connection> connections = connecting(clients.get(node));
      places.add(new Place(names.get(node), false, connections, connections));
    }
    return Opening.backend(places, settings, context);
  }

  private static Supplier<Connection> connecting(RedisClient client) {
    return () -> connection(client);
  }

  private static Connection connection(RedisClient client) {
    try {
      return client.getPool().getFactory().makeObject().getObject();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new JedisConnectionException("could not make a connection", e);
    }
  }
}
