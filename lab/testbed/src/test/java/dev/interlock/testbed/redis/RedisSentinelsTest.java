package dev.interlock.testbed.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.server.ServerSource;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class RedisSentinelsTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final Duration LIMIT = Duration.ofMinutes(1);

  private static RedisSentinels start() {
    return withLongTimeout().start();
  }

  /** A time-out at which sentinels do not replace a master because the machine stalls. */
  private static RedisSentinels.Builder withLongTimeout() {
    return Testbed.redisSentinels().using(ServerSource.BINARY).downAfter(Duration.ofSeconds(4));
  }

  @Test
  void listsTheSentinelsAndKnowsTheMaster() throws IOException {
    try (RedisSentinels redis = start()) {
      assertEquals(3, redis.sentinels().size());
      assertTrue(
          redis.uri().startsWith("redis-sentinel://127.0.0.1:" + redis.sentinels().get(0).port()));
      assertTrue(redis.uri().endsWith("/mymaster"));
      assertEquals(redis.members().get(0), redis.master());
      assertEquals("slave", redis.members().get(1).info("replication", "role"));
    }
  }

  @Test
  void replacesAKilledMasterAndTakesItBackAsAReplica() throws IOException {
    try (RedisSentinels redis = start()) {
      RedisServer lost = redis.master();
      lost.kill();
      RedisServer successor = redis.awaitFailOver(lost);
      assertNotEquals(lost, successor);
      assertEquals("OK", successor.call("SET", "key", "value"));
      redis.heal();
      assertEquals(successor, redis.master());
      assertEquals("value", lost.call("GET", "key"));
      assertEquals("slave", lost.info("replication", "role"));
    }
  }

  @Test
  @Tag("extended")
  void replacesAMasterThatIsCutOffAndGoesOnServing() throws IOException {
    try (RedisSentinels redis = withLongTimeout().separable().start()) {
      assertTrue(redis.canCutOff());
      RedisServer lost = redis.master();
      redis.cutOff(lost);
      RedisServer successor = redis.awaitFailOver(lost);
      assertEquals("OK", lost.call("SET", "key", "old"));
      assertEquals("master", lost.info("replication", "role"));
      assertEquals("OK", successor.call("SET", "key", "new"));
      redis.heal();
      assertEquals("slave", lost.info("replication", "role"));
      assertEquals("new", lost.call("GET", "key"));
    }
  }

  @Test
  @Tag("extended")
  void failsOverOnDemandAgainAndAgain() throws IOException {
    try (RedisSentinels redis =
        Testbed.redisSentinels().using(ServerSource.BINARY).password("secret").start()) {
      RedisServer first = redis.master();
      RedisServer second = redis.failOver();
      assertNotEquals(first, second);
      redis.heal();
      assertEquals(first, redis.failOver());
      assertTrue(redis.uri().startsWith("redis-sentinel://:secret@"), "the URI has the password");
    }
  }

  @Test
  @Tag("extended")
  void failsOverAlsoIfTheSentinelsGiveUpFirst() throws Exception {
    // time to tell the sentinels before they notice that the replica is down
    Duration downAfter = Duration.ofSeconds(2);
    try (RedisSentinels redis =
        Testbed.redisSentinels().using(ServerSource.BINARY).downAfter(downAfter).start()) {
      RedisServer old = redis.master();
      RedisServer replica = redis.members().get(1);
      replica.pause();
      CompletableFuture<RedisServer> successor = CompletableFuture.supplyAsync(redis::failOver);
      Waiting.demandThat(LIMIT, "no fail-over began", () -> isFailingOver(redis));
      Waiting.demandThat(LIMIT, "the fail-over was not given up", () -> !isFailingOver(redis));
      assertEquals(old, redis.master());
      replica.resume();
      assertEquals(replica, successor.get(1, TimeUnit.MINUTES));
    }
  }

  private static boolean isFailingOver(RedisSentinels redis) throws IOException {
    Object reply = redis.sentinels().get(0).call("SENTINEL", "MASTER", "mymaster");
    return RedisEndpoint.map(reply).get("flags").contains("failover_in_progress");
  }

  @Test
  @Tag("extended")
  void sentinelsAndServersSpeakTls() {
    try (RedisSentinels redis = Testbed.redisSentinels().using(ServerSource.BINARY).tls().start()) {
      assertTrue(redis.uri().startsWith("rediss-sentinel://127.0.0.1:"));
      assertTrue(redis.uri().contains("/mymaster?caCert="));
      RedisServer old = redis.master();
      assertNotEquals(old, redis.failOver());
    }
  }

  @Test
  @Tag("extended")
  void theEmbeddedProgramServesAsSentinelToo() {
    try (RedisSentinels redis = Testbed.redisSentinels().using(ServerSource.EMBEDDED).start()) {
      assertEquals(redis.members().get(0), redis.master());
    }
  }
}
