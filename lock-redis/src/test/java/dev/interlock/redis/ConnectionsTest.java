package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.isBusy;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.WakeUp;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A client makes as many connections as it may, and closes those that it does not use. */
class ConnectionsTest {

  @AutoClose private static final RedisServer redis = Testbed.redis().start();

  @BeforeEach
  void waitForTheOnesBefore() throws Exception {
    Eventually.holds("the clients before are gone", () -> connections() == 0);
  }

  @ParameterizedTest
  @CsvSource({"'', 16", "?maxConnections=4, 4", "?maxConnections=1, 1"})
  void manyThreadsShareTheConnectionsThatAreAllowed(String parameters, int most) throws Exception {
    try (LockBackend backend = Backends.open(redis.uri() + parameters)) {
      WakeUp news = new WakeUp(Backends.TIME);
      try (Watch watch = backend.watch("job", news)) {
        news.await(soon());
        inParallel(
            80,
            number ->
                () -> {
                  for (int i = 0; i < 20; i++) {
                    Claim claim = claim("job " + number);
                    take(backend, claim);
                    assertTrue(isBusy(backend, claim.name()));
                    assertTrue(backend.release(claim, soon()));
                  }
                  return true;
                });
        // No connection has been idle long enough to be closed, so these are all.
        long after = connections();
        assertTrue(after <= most + 1, () -> after + " connections, one of them for the watch");
      }
    }
  }

  @Test
  void connectionsThatNobodyUsesAreClosed() throws Exception {
    RedisUri uri = new RedisUri(LockUri.parse(redis.uri()), Duration.ofSeconds(10));
    assertEquals(Duration.ofMinutes(1), LockPool.MAX_IDLE);
    LockKeys keys = LockKeys.of("interlock", "job");
    try (PooledNodes nodes =
        PooledNodes.of(
            new LockPool(uri.server(), uri.servers.clientConfig(0), 16, Duration.ofMillis(50)))) {
      int many = 8;
      CyclicBarrier together = new CyclicBarrier(many);
      Nodes.Talk<Boolean> talk =
          wire -> {
            try {
              together.await(Eventually.LIMIT.toSeconds(), TimeUnit.SECONDS);
            } catch (Exception e) {
              throw new AssertionError(e);
            }
            return wire.ping();
          };
      inParallel(many, number -> () -> nodes.call(keys, soon(), false, talk));
      Eventually.holds("closed", () -> connections() == 0);
      assertTrue(nodes.call(keys, soon(), true, Wire::ping));
    }
  }

  private static void inParallel(int count, IntFunction<Callable<Boolean>> work) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(count);
    try {
      List<Future<Boolean>> all = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        all.add(threads.submit(work.apply(i)));
      }
      for (Future<Boolean> one : all) {
        assertTrue(one.get());
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /** Returns the connections of Interlock's clients; those of the test have no name. */
  private static long connections() throws IOException {
    return ((String) redis.call("CLIENT", "LIST"))
        .lines()
        .filter(line -> line.contains(" name=interlock "))
        .count();
  }
}
