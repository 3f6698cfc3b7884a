package dev.interlock.redis;

import dev.interlock.LockConfigurationException;
import dev.interlock.redis.server.ServerUri;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/**
 * The settings in a URI of this module's schemes. Does no I/O. Every method throws {@link
 * LockConfigurationException} if the URI is wrong.
 */
final class RedisUri {

  static final int SENTINEL_PORT = 26379;
  private static final int DEFAULT_CONNECTIONS = 16;

  private static final UriParameter<Integer> MAX_CONNECTIONS =
      UriParameter.integer(
          "maxConnections",
          1,
          10_000,
          Integer.toString(DEFAULT_CONNECTIONS),
          "The maximum number of connections to each server. They are made when needed, and closed"
              + " after about a minute without use. While a thread waits for a lock there is one"
              + " more.");

  private static final UriParameter<Integer> WAIT_REPLICAS =
      UriParameter.integer(
          "waitReplicas",
          0,
          100,
          "0",
          "The number of replicas that must confirm a grant or renewal before it counts.");

  private static final UriParameter<String> SENTINEL_USER =
      UriParameter.text("sentinelUser", null, "The user at the sentinels.");

  private static final UriParameter<String> SENTINEL_PASSWORD =
      UriParameter.secret("sentinelPassword", "The password at the sentinels.");

  /** The parameters of all schemes of this module. */
  static final List<UriParameter<?>> PARAMETERS =
      Stream.concat(ServerUri.PARAMETERS.stream(), Stream.of(MAX_CONNECTIONS, WAIT_REPLICAS))
          .toList();

  /** The parameters of the schemes with sentinels. */
  static final List<UriParameter<?>> PARAMETERS_WITH_SENTINELS =
      Stream.concat(
              PARAMETERS.stream(), Stream.of(ServerUri.DATABASE, SENTINEL_USER, SENTINEL_PASSWORD))
          .toList();

  final ServerUri servers;
  final RedisSettings settings;
  private final LockUri uri;
  private final int maxConnections;

  RedisUri(LockUri uri, Duration requestTimeout) {
    this.uri = uri;
    this.maxConnections = uri.get(MAX_CONNECTIONS).orElse(DEFAULT_CONNECTIONS);
    RedisSettings.Builder settings = RedisSettings.builder();
    uri.get(ServerUri.NAMESPACE).ifPresent(settings::namespace);
    uri.get(ServerUri.FENCE_RETENTION).ifPresent(settings::fenceRetention);
    uri.get(WAIT_REPLICAS).ifPresent(settings::waitReplicas);
    this.settings = settings.build();
    this.servers = new ServerUri(uri, requestTimeout);
  }

  /** Returns the first contact with these servers. */
  Opening opening(RedisTopology topology, String endpoint, BackendContext context) {
    return new Opening(topology, endpoint, servers.tls(), settings, context);
  }

  HostAndPort server() {
    int given = uri.endpoints(ServerUri.REDIS_PORT).size();
    if (given != 1) {
      throw servers.wrong(
          "must have one host, not "
              + given
              + "; use redis-cluster: or redis-sentinel: for servers that belong together, redlock:"
              + " for independent ones",
          null);
    }
    return servers.addresses(ServerUri.REDIS_PORT).iterator().next();
  }

  /** Returns the path, which is the name under which the sentinels know the primary. */
  String primaryInPath() {
    String name = servers.pathWithoutSlash();
    if (name.isBlank() || name.indexOf('/') >= 0) {
      throw servers.wrong(
          "the path must be the name under which the sentinels know the primary, such as "
              + uri.scheme()
              + "://host:26379/mymaster",
          null);
    }
    return name;
  }

  void requireNoPath() {
    if (!servers.pathWithoutSlash().isEmpty()) {
      throw servers.wrong("a cluster has database 0 only; leave the path out", null);
    }
  }

  /** Returns the settings for connections to sentinels, which have their own users. */
  DefaultJedisClientConfig sentinelConfig() {
    // Jedis's class for sentinels cannot negotiate the protocol, and would warn of it every time.
    DefaultJedisClientConfig.Builder config = servers.connection().serverDefaultProtocol();
    if (uri.get(SENTINEL_USER).isPresent() && uri.get(SENTINEL_PASSWORD).isEmpty()) {
      throw servers.wrong("there is a sentinelUser, but sentinelPassword is missing", null);
    }
    return ServerUri.login(config, uri.get(SENTINEL_USER), () -> uri.get(SENTINEL_PASSWORD));
  }

  /** Creates a pool with the limit of the URI. */
  LockPool pool(HostAndPort server, DefaultJedisClientConfig config) {
    return new LockPool(server, config, maxConnections);
  }
}
