package dev.interlock.redlock;

import dev.interlock.BackendInfo;
import dev.interlock.redis.server.OwnConnection;
import dev.interlock.redis.server.ServerUri;
import dev.interlock.redlock.Cluster.Place;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/**
 * Opens locks on a majority of independent Redis servers: <code>
 * redlock://user:password@host1:6379,host2:6379,host3:6379/0</code>, or {@code redlocks:} with TLS.
 *
 * <p>User, password, and the database in the path apply to all nodes. {@link #parameters} lists the
 * parameters; {@link RedlockSettings} explains most of them.
 */
public final class RedlockProvider implements LockProvider {

  private static final UriParameter<Duration> NODE_TIMEOUT =
      UriParameter.duration("nodeTimeout", "1s", "How long to wait for the answer of a node.");

  private static final UriParameter<Duration> MAX_TTL =
      UriParameter.duration(
          "maxTtl",
          "1m",
          "The longest TTL that clients may ask for. A restarted node does not vote for this time."
              + " All clients must use the same.");

  private static final UriParameter<Double> DRIFT =
      UriParameter.of(
          "drift",
          "number from 0 to 0.5",
          "0.01",
          "The part of the TTL by which the clocks of nodes and client may differ in speed.",
          RedlockProvider::number);

  private static final UriParameter<Boolean> DURABLE =
      UriParameter.flag(
          "durable",
          false,
          "Whether every node writes each change to its disk before it answers, so that it may vote"
              + " at once after a restart.");

  private static final UriParameter<Boolean> FORCE =
      UriParameter.flag(
          "force", false, "Whether to accept fewer than three nodes, or an even number.");

  private static final List<UriParameter<?>> PARAMETERS =
      Stream.concat(
              ServerUri.PARAMETERS.stream(),
              Stream.of(NODE_TIMEOUT, MAX_TTL, DRIFT, DURABLE, FORCE))
          .toList();

  /** Creates the provider; for {@link java.util.ServiceLoader}. */
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
  public List<UriParameter<?>> parameters(String scheme) {
    return PARAMETERS;
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    RedlockSettings.Builder builder = RedlockSettings.builder();
    uri.get(ServerUri.NAMESPACE).ifPresent(builder::namespace);
    uri.get(ServerUri.FENCE_RETENTION).ifPresent(builder::fenceRetention);
    uri.get(NODE_TIMEOUT).ifPresent(builder::nodeTimeout);
    uri.get(MAX_TTL).ifPresent(builder::maxTtl);
    uri.get(DRIFT).ifPresent(builder::drift);
    uri.get(DURABLE).ifPresent(builder::durable);
    uri.get(FORCE).ifPresent(builder::force);
    RedlockSettings settings = builder.build();
    ServerUri servers = new ServerUri(uri, settings.nodeTimeout());
    DefaultJedisClientConfig config = servers.clientConfig(servers.databaseInPath());
    List<Place> places = new ArrayList<>();
    for (LockUri.Endpoint endpoint : uri.endpoints(ServerUri.REDIS_PORT)) {
      HostAndPort address = new HostAndPort(endpoint.host(), endpoint.port());
      places.add(
          new Place(
              address.toString(),
              servers.tls(),
              () -> new Connection(address, config),
              () -> OwnConnection.forPipeline(address, config, null)));
    }
    return Opening.backend(places, settings, context);
  }

  private static double number(String text) {
    try {
      return Double.parseDouble(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("must be a number such as 0.01, not \"" + text + "\"", e);
    }
  }
}
