package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockPage;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisCluster;
import dev.interlock.testbed.redis.RedisServer;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.RedisClient;

/** Listing goes through all keys of the namespace that look like the prefix, and no others. */
class ListTest {

  private static final List<String> NAMES =
      List.of("a*/1", "a*/{2}", "a*/\u0001%", "ab", "a*", "b", "a*/\ud83d\ude00", "a*/fence");

  private static Map<String, LockState> list(LockBackend backend, String prefix)
      throws InterruptedException {
    Map<String, LockState> found = new TreeMap<>();
    @Nullable String cursor = null;
    do {
      LockPage page = backend.list(prefix, cursor, 3, soon());
      page.locks().forEach(state -> found.put(state.name(), state));
      cursor = page.next();
    } while (cursor != null);
    return found;
  }

  private static void listsWhatIsHeld(LockBackend backend) throws Exception {
    for (String name : NAMES) {
      take(backend, claim(name));
    }
    assertEquals(Set.copyOf(NAMES), list(backend, "").keySet());
    assertEquals(
        Set.of("a*/1", "a*/{2}", "a*/\u0001%", "a*/\ud83d\ude00", "a*/fence"),
        list(backend, "a*/").keySet());
    assertEquals(Set.of("a*/\ud83d\ude00"), list(backend, "a*/\ud83d").keySet());
    assertEquals(Set.of(), list(backend, "a?").keySet());
  }

  @Test
  void onOneServer() throws Exception {
    try (RedisServer redis = Testbed.redis().start();
        LockBackend backend = Backends.open(redis.uri())) {
      Instant before = time(redis);
      listsWhatIsHeld(backend);
      redis.call("SET", "interlock:{a*/foreign}", "of another program");
      redis.call("SET", "interlock:{a*/not%%encoded}", "of another program");
      LockState state = list(backend, "a*/1").get("a*/1");
      assertEquals("host/1/test", state.holder().flatMap(LockState.Holder::label).orElseThrow());
      Instant since = state.heldSince().orElseThrow();
      assertTrue(!since.isBefore(before) && !since.isAfter(time(redis)), () -> since + "");
      assertEquals(5, list(backend, "a*/").size());
      redis.call("SET", "interlock:{a*}:fence", "of another program");
      assertThrows(LockConfigurationException.class, () -> list(backend, ""));
    }
  }

  @Test
  void onAllPrimariesOfACluster() throws Exception {
    try (RedisCluster cluster = Testbed.redisCluster().start();
        LockBackend backend = Backends.open(cluster.uri())) {
      listsWhatIsHeld(backend);
    }
  }

  /** A page for every hundred of them, with a question of which process it is, took hours. */
  @Test
  void theKeysOfOthersArePassedQuickly() throws Exception {
    try (RedisServer redis = Testbed.redis().start();
        LockBackend backend = Backends.open(redis.uri())) {
      redis.call("EVAL", "for i = 1, 50000 do redis.call('SET', 'other' .. i, '') end", "0");
      int pages = 0;
      String cursor = null;
      do {
        LockPage page = backend.list("", cursor, 100, soon());
        pages++;
        cursor = page.next();
      } while (cursor != null);
      assertTrue(pages < 5, pages + " pages");
    }
  }

  /** The cursor of a page is worth nothing to another process, which would skip locks. */
  @Test
  void aListingDoesNotGoOnAfterARestart() throws Exception {
    try (RedisServer redis = Testbed.redis().start();
        LockBackend backend = Backends.open(redis.uri())) {
      assertDoesNotGoOnAfterARestart(redis, backend, () -> {});
      assertEquals(100, list(backend, "").size());
    }
  }

  /** A pool drops connections that have rested for long, and so notices no restart. */
  @Test
  void norDoesOneThatWasNotContinuedForLong() throws Exception {
    try (RedisServer redis = Testbed.redis().start();
        RedisClient jedis =
            RedisClient.builder()
                .hostAndPort(redis.host(), redis.port())
                .clientConfig(Backends.jedisConfig())
                .build();
        LockBackend backend =
            JedisClients.backend(jedis, RedisSettings.defaults(), Backends.context())) {
      assertDoesNotGoOnAfterARestart(redis, backend, jedis.getPool()::clear);
    }
  }

  private static void assertDoesNotGoOnAfterARestart(
      RedisServer redis, LockBackend backend, Runnable meanwhile) throws Exception {
    for (int i = 0; i < 100; i++) {
      take(backend, claim("job " + i));
    }
    LockPage first = backend.list("", null, 3, soon());
    redis.kill();
    redis.restart();
    meanwhile.run();
    LockUnavailableException problem =
        assertThrows(
            LockUnavailableException.class, () -> backend.list("", first.next(), 3, soon()));
    assertTrue(problem.getMessage().contains("start it again"), problem::getMessage);
  }

  /** A replica may lack locks that its primary has granted. */
  @Test
  void aReplicaIsNotListed() throws Exception {
    try (RedisServer redis = Testbed.redis().start();
        LockBackend backend = Backends.open(redis.uri())) {
      redis.demote();
      LockUnavailableException problem =
          assertThrows(LockUnavailableException.class, () -> list(backend, ""));
      assertTrue(problem.getMessage().contains("read-only replica"), problem::getMessage);
    }
  }

  private static Instant time(RedisServer redis) throws Exception {
    List<?> time = (List<?>) redis.call("TIME");
    return Instant.ofEpochMilli(
        Long.parseLong((String) time.get(0)) * 1_000
            + Long.parseLong((String) time.get(1)) / 1_000);
  }
}
