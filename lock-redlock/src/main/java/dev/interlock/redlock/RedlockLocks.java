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
 * Locks through Jedis clients that the program already has, one for each node.
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
 * <p>The Jedis clients are never closed here, and have to outlive the lock client. One connection
 * to each node is made with their settings and not counted by their pools, and one more while a
 * thread waits for a lock. Each has to be a {@link RedisClient}: other kinds choose among several
 * servers, and a vote has to come from the same server every time.
 */
public final class RedlockLocks {

  private RedlockLocks() {}

  /**
   * Opens a client with default settings and options.
   *
   * @param nodes where the locks are kept; with finite time-outs
   * @return a new client
   * @throws LockConfigurationException if a node cannot be one
   * @throws dev.interlock.LockUnavailableException if no majority answers
   */
  public static LockClient using(List<? extends UnifiedJedis> nodes) {
    return using(nodes, RedlockSettings.defaults(), LockOptions.defaults());
  }

  /**
   * Opens a client.
   *
   * @param nodes where the locks are kept; with finite time-outs
   * @param settings how they are kept
   * @param options what holds for every lock of the client unless said otherwise per lock
   * @return a new client
   * @throws LockConfigurationException if a node cannot be one
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
