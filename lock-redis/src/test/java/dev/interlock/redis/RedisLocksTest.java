package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.MultiDbClient;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.providers.ConnectionProvider;
import redis.clients.jedis.providers.PooledConnectionProvider;

/** Locks through Jedis clients of the program. */
class RedisLocksTest {

  /** A server that stands still for a while fails no request. */
  private static final LockOptions LONG_TIMEOUT =
      LockOptions.builder().requestTimeout(Duration.ofSeconds(20)).build();

  @AutoClose private static final RedisServer redis = Testbed.redis().start();

  @BeforeEach
  void clear() throws IOException {
    redis.heal();
    redis.call("FLUSHALL");
  }

  @Test
  void aClientWorksThroughTheUsersJedisAndLeavesItOpen() throws Exception {
    try (RedisClient jedis = client(new ConnectionPoolConfig(), 20_000)) {
      try (LockClient locks =
              RedisLocks.using(
                  jedis, RedisSettings.builder().namespace("mine").build(), LONG_TIMEOUT);
          Lease lease = locks.lock("job").acquire()) {
        assertEquals(lease.fencingToken() / 64, Long.parseLong(jedis.get("mine:{job}:fence")));
        assertTrue(locks.lock("job").tryAcquire().isEmpty());
        assertEquals("127.0.0.1:" + redis.port(), locks.endpoint());
      }
      assertFalse(jedis.exists("mine:{job}"));
      assertEquals("PONG", jedis.ping());
    }
  }

  @Test
  void aPoolOfOneIsEnoughWhileSomebodyWaits() throws Exception {
    ConnectionPoolConfig one = new ConnectionPoolConfig();
    one.setMaxTotal(1);
    try (RedisClient jedis = client(one, 20_000);
        LockClient locks = RedisLocks.using(jedis, LONG_TIMEOUT);
        LockClient others = RedisLocks.using(jedis, LONG_TIMEOUT)) {
      Lease lease = locks.lock("job").acquire();
      CompletableFuture<Lease> waiting = others.lock("job").acquireAsync();
      Eventually.holds("listening", () -> channels().contains("interlock:{job}"));
      jedis.set("the pool", "is free");
      lease.release();
      waiting.get().release();
    }
  }

  @Test
  void aJedisThatWaitsWithoutLimitIsRefused() {
    try (RedisClient jedis = client(new ConnectionPoolConfig(), 0)) {
      LockConfigurationException e =
          assertThrows(LockConfigurationException.class, () -> RedisLocks.using(jedis));
      assertTrue(e.getMessage().contains("without limit"), e::getMessage);
      assertTrue(e.getMessage().contains("socketTimeoutMillis"), e::getMessage);
    }
  }

  @Test
  void aJedisThatMovesBetweenDatabasesIsRefused() throws Exception {
    // To make one properly takes libraries that nothing else here needs.
    Class<?> unsafe = Class.forName("sun.misc.Unsafe");
    Field instance = unsafe.getDeclaredField("theUnsafe");
    instance.setAccessible(true);
    UnifiedJedis jedis =
        (UnifiedJedis)
            unsafe
                .getMethod("allocateInstance", Class.class)
                .invoke(instance.get(null), MultiDbClient.class);
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> RedisLocks.using(jedis));
    assertTrue(e.getMessage().contains("MultiDbClient"), e::getMessage);
  }

  @Test
  void aClosedJedisIsSaidToBeClosed() {
    RedisClient jedis = client(new ConnectionPoolConfig(), 20_000);
    jedis.close();
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> RedisLocks.using(jedis));
    assertTrue(e.getMessage().contains("was closed"), e::getMessage);
  }

  @Test
  void aJedisThatIsClosedLaterIsSaidToBeClosedAtOnce() throws Exception {
    RedisClient jedis = client(new ConnectionPoolConfig(), 20_000);
    try (LockClient locks = RedisLocks.using(jedis, RedisSettings.defaults(), LONG_TIMEOUT)) {
      locks.lock("job").acquire().close();
      jedis.close();
      LockConfigurationException e =
          assertThrows(LockConfigurationException.class, () -> locks.lock("job").acquire());
      assertTrue(e.getMessage().contains("was closed"), e::getMessage);
    }
  }

  @Test
  void theUsersPoolIsNotWaitedForLongerThanTheDeadline() throws Exception {
    // The defaults of Jedis: eight connections, and no limit for waiting.
    try (RedisClient jedis = client(new ConnectionPoolConfig(), 60_000);
        LockBackend backend = backend(jedis)) {
      List<Connection> all = Stream.generate(() -> jedis.getPool().getResource()).limit(8).toList();
      Eventually.holds(
          "it says that all are in use", // and not that the time was up before it looked
          () ->
              assertThrows(
                      LockUnavailableException.class,
                      () -> backend.tryAcquire(claim("job"), in(millis(100))))
                  .getMessage()
                  .contains("all 8 connections are in use"));
      all.forEach(Connection::close);
      take(backend, claim("job"));
    }
  }

  @Test
  void theUsersConnectionsKeepTheirTimeout() throws Exception {
    ConnectionPoolConfig one = new ConnectionPoolConfig();
    one.setMaxTotal(1);
    try (RedisClient jedis = client(one, 60_000);
        LockBackend backend = backend(jedis)) {
      take(backend, claim("job"));
      try (Connection connection = jedis.getPool().getResource()) {
        assertEquals(60_000, connection.getSoTimeout());
      }
    }
  }

  @Test
  void aServerThatDoesNotAnswerIsNotWaitedForTwice() throws Exception {
    // The pool of the user's connects anew whenever a broken connection is given back to it.
    try (RedisClient jedis = client(new ConnectionPoolConfig(), 600_000);
        LockBackend backend = backend(jedis)) {
      redis.pause();
      assertThrows(
          LockUnavailableException.class, () -> backend.tryAcquire(claim("job"), in(millis(100))));
      redis.resume();
      take(backend, claim("another job"));
    }
  }

  /** A kind that executes commands itself, and would repeat those whose replies are lost. */
  @Test
  void aJedisOfUnknownKindIsRefused() {
    try (UnifiedJedis jedis = unknownKind()) {
      LockConfigurationException e =
          assertThrows(LockConfigurationException.class, () -> RedisLocks.using(jedis));
      assertTrue(e.getMessage().contains("a UnifiedJedis cannot keep locks"), e::getMessage);
      assertTrue(e.getMessage().contains("use a RedisClient"), e::getMessage);
    }
  }

  /** A cluster's client with such a provider Jedis itself refuses to build. */
  @Test
  void aJedisWithoutPoolsIsRefused() throws Exception {
    HostAndPort address = new HostAndPort(redis.host(), redis.port());
    try (ConnectionProvider own = new OneConnectionEach();
        RedisClient jedis = RedisClient.builder().connectionProvider(own).build();
        RedisSentinelClient sentinel =
            RedisSentinelClient.builder()
                .masterName("main")
                .sentinels(Set.of(address))
                .connectionProvider(own)
                .build()) {
      for (UnifiedJedis each : List.of(jedis, sentinel)) {
        LockConfigurationException e =
            assertThrows(LockConfigurationException.class, () -> RedisLocks.using(each));
        assertTrue(e.getMessage().contains("no pools"), e::getMessage);
      }
    }
  }

  private static final class OneConnectionEach implements ConnectionProvider {
    @Override
    public Connection getConnection() {
      return new Connection(redis.host(), redis.port());
    }

    @Override
    public Connection getConnection(CommandArguments arguments) {
      return getConnection();
    }

    @Override
    public void close() {}
  }

  private static RedisClient client(ConnectionPoolConfig pool, int timeoutMillis) {
    return RedisClient.builder()
        .hostAndPort(redis.host(), redis.port())
        .clientConfig(DefaultJedisClientConfig.builder().socketTimeoutMillis(timeoutMillis).build())
        .poolConfig(pool)
        .build();
  }

  /** A client of a kind that Jedis does not have. */
  @SuppressWarnings("deprecation") // The only public constructor left.
  private static UnifiedJedis unknownKind() {
    return new UnifiedJedis(
        new PooledConnectionProvider(new HostAndPort(redis.host(), redis.port())),
        3,
        Duration.ofSeconds(2));
  }

  private static LockBackend backend(UnifiedJedis jedis) {
    return JedisClients.backend(jedis, RedisSettings.defaults(), Backends.context(LONG_TIMEOUT));
  }

  private static Deadline in(Duration time) {
    return Deadline.in(Backends.TIME, time);
  }

  private static List<?> channels() throws IOException {
    return (List<?>) redis.call("PUBSUB", "CHANNELS");
  }

  private static Duration millis(int millis) {
    return Duration.ofMillis(millis);
  }
}
