package dev.interlock.compare.baseline;

import dev.interlock.spi.LockUri;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.params.SetParams;

/** The single-instance lock from the documentation of Redis, on Jedis. */
public final class RedisDriver implements BareDriver {
  private static final int DEFAULT_PORT = 6379;
  private static final int MAX_CONNECTIONS = 64;

  /** Creates a key with an expiry, if it does not exist. */
  static final SetParams IF_FREE = SetParams.setParams().nx().px(30_000);

  /** Deletes a key if it has the caller's value. */
  static final String DELETE_OWN =
      "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1])"
          + " else return 0 end";

  /** Used by {@link java.util.ServiceLoader}. */
  public RedisDriver() {}

  @Override
  public Set<String> schemes() {
    return Set.of("redis");
  }

  @Override
  public String summary() {
    return "SET NX PX, then EVALSHA that deletes its own value, on a pool of Jedis connections";
  }

  @Override
  public Session open(String uri, int threads) {
    LockUri parsed = LockUri.parse(uri);
    return connect(parsed, addresses(parsed).get(0), threads);
  }

  /** Connects to each server that the URI names. */
  static List<Pool> openAll(String uri, int threads) {
    LockUri parsed = LockUri.parse(uri);
    List<Pool> sessions = new ArrayList<>();
    try {
      for (HostAndPort address : addresses(parsed)) {
        sessions.add(connect(parsed, address, threads));
      }
      return sessions;
    } catch (RuntimeException e) {
      sessions.forEach(Pool::close);
      throw e;
    }
  }

  static List<HostAndPort> addresses(LockUri uri) {
    return uri.endpoints(DEFAULT_PORT).stream()
        .map(endpoint -> new HostAndPort(endpoint.host(), endpoint.port()))
        .toList();
  }

  static JedisClientConfig config(LockUri uri) {
    return DefaultJedisClientConfig.builder()
        .timeoutMillis(Math.toIntExact(REQUEST_TIMEOUT.toMillis()))
        .user(uri.user().orElse(null))
        .password(uri.password().orElse(null))
        .database(uri.path().matches("/\\d+") ? Integer.parseInt(uri.path().substring(1)) : 0)
        .build();
  }

  static String key(String name) {
    return "baseline:" + name;
  }

  private static Pool connect(LockUri uri, HostAndPort address, int threads) {
    ConnectionPoolConfig pool = new ConnectionPoolConfig();
    int connections = Math.min(threads, MAX_CONNECTIONS);
    pool.setMaxTotal(connections);
    pool.setMaxIdle(connections);
    RedisClient client =
        RedisClient.builder()
            .hostAndPort(address)
            .clientConfig(config(uri))
            .poolConfig(pool)
            .build();
    try {
      return new Pool(client, client.scriptLoad(DELETE_OWN));
    } catch (RuntimeException e) {
      client.close();
      throw e;
    }
  }

  /** A pool of connections, and the hash of the loaded script. */
  record Pool(RedisClient client, String script) implements Session {

    @Override
    public void cycle(String name) {
      String owner = UUID.randomUUID().toString();
      if (!tryAcquire(name, owner)) {
        throw new IllegalStateException(key(name) + " already exists");
      }
      release(name, owner);
    }

    /** {@return whether the key was free} */
    boolean tryAcquire(String name, String owner) {
      return client.set(key(name), owner, IF_FREE) != null;
    }

    void release(String name, String owner) {
      client.evalsha(script, List.of(key(name)), List.of(owner));
    }

    @Override
    public long storedKeys() {
      return client.dbSize();
    }

    @Override
    public void close() {
      client.close();
    }
  }
}
