package dev.interlock.redlock;

import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.redis.server.ServerUri;
import dev.interlock.redlock.Cluster.Place;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/**
 * Several independent Redis servers: <code>
 * redlock://user:password@host1:6379,host2:6379,host3:6379/0</code>, or {@code redlocks:} with TLS.
 *
 * <p>User, password, and the database that is the path, hold for all nodes. Parameters:
 *
 * <ul>
 *   <li>{@code namespace}, {@code fenceRetention}, {@code nodeTimeout}, {@code maxTtl}, {@code
 *       drift}, {@code durable}, {@code force}: see {@link RedlockSettings};
 *   <li>{@code connectTimeout}: how long connecting to a node may take; default: the time-out of a
 *       node;
 *   <li>{@code caCert}: with TLS, a PEM file with the authorities to be trusted in place of the
 *       JVM's.
 * </ul>
 */
public final class RedlockProvider implements LockProvider {

  /** Does nothing. */
  public RedlockProvider() {}

  @Override
  public Set<String> schemes() {
    return Set.of("redlock", "redlocks");
  }

  @Override
  public BackendInfo describe(String scheme) {
    return RedlockBackend.INFO;
  }

  @Override
  public String example(String scheme) {
    return scheme + "://host1:6379,host2:6379,host3:6379";
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    RedlockSettings.Builder builder = RedlockSettings.builder();
    uri.text("namespace").ifPresent(builder::namespace);
    uri.duration("fenceRetention").ifPresent(builder::fenceRetention);
    uri.duration("nodeTimeout").ifPresent(builder::nodeTimeout);
    uri.duration("maxTtl").ifPresent(builder::maxTtl);
    uri.text("drift").ifPresent(drift -> builder.drift(number(uri, drift)));
    uri.flag("durable").ifPresent(builder::durable);
    uri.flag("force").ifPresent(builder::force);
    RedlockSettings settings = builder.build();
    ServerUri servers = new ServerUri(uri, settings.nodeTimeout());
    DefaultJedisClientConfig config = servers.clientConfig(servers.databaseInPath());
    List<Place> places = new ArrayList<>();
    for (LockUri.Endpoint endpoint : uri.endpoints(ServerUri.REDIS_PORT)) {
      HostAndPort address = new HostAndPort(endpoint.host(), endpoint.port());
      places.add(
          new Place(address.toString(), servers.tls(), () -> new Connection(address, config)));
    }
    uri.requireAllRead();
    return Opening.backend(places, settings, context);
  }

  private static double number(LockUri uri, String text) {
    try {
      return Double.parseDouble(text);
    } catch (NumberFormatException e) {
      throw new LockConfigurationException(
          uri.scheme()
              + " URI: parameter drift must be a number such as 0.01, not \""
              + text
              + "\"",
          e);
    }
  }
}
