package dev.interlock.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.ReleaseOutcome;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Clients on a real Redis, as programs use them. */
@Isolated("it counts threads, and those of other tests would count, too")
class RedisClientTest {

  /** A server, or this JVM, that stands still for a while costs no lease and fails no request. */
  private static final LockOptions LONG_TIMEOUT =
      LockOptions.builder().ttl(Duration.ofHours(1)).requestTimeout(Duration.ofSeconds(20)).build();

  @AutoClose private static final RedisServer redis = Testbed.redis().start();

  @BeforeEach
  void clear() throws Exception {
    redis.heal();
    redis.call("FLUSHALL");
    Eventually.holds("the clients before are gone", () -> connections() == 1);
  }

  @Test
  void aWaiterIsWokenByTheReleaseAndNotByLookingAgain() throws Exception {
    // Without a message it would poll after ten minutes.
    LockOptions seldom = LONG_TIMEOUT.toBuilder().pollInterval(Duration.ofMinutes(10)).build();
    try (LockClient holder = open();
        LockClient waiter = LockClient.open(redis.uri(), seldom)) {
      for (int i = 0; i < 20; i++) {
        Lease lease = holder.lock("job").acquire();
        CompletableFuture<Lease> waiting = waiter.lock("job").acquireAsync();
        Eventually.holds("waiting", () -> subscriptions() > 0);
        assertFalse(waiting.isDone());
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
        waiting.get(1, TimeUnit.MINUTES).release();
        Eventually.holds("no longer waiting", () -> subscriptions() == 0);
      }
    }
  }

  @Test
  void usingManyNamesLeavesNoThreadsConnectionsOrKeysButTheirFences() throws Exception {
    int names = 2_000;
    try (LockClient client = open()) {
      client.lock("first").acquire().release();
      long connections = connections();
      int threads = Thread.activeCount();
      for (int i = 0; i < names; i++) {
        client.lock("job " + i).acquire().release();
      }
      assertEquals(connections, connections());
      assertTrue(Thread.activeCount() <= threads + 1, "threads came with the names");
      assertEquals((long) names + 1, redis.call("DBSIZE"));
      assertTrue((Long) redis.call("PTTL", "interlock:{job 7}:fence") > 0);
      assertEquals(0, subscriptions());
    }
    Eventually.holds("all connections are closed", () -> connections() == 1);
  }

  private static LockClient open() {
    return LockClient.open(redis.uri(), LONG_TIMEOUT);
  }

  private static long subscriptions() throws IOException {
    return ((List<?>) redis.call("PUBSUB", "CHANNELS", "interlock:{*")).size();
  }

  /** Including the one that asks. */
  private static long connections() throws IOException {
    return ((String) redis.call("CLIENT", "LIST")).lines().filter(line -> !line.isBlank()).count();
  }
}
