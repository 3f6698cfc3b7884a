package dev.interlock.redis;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client far away competes with clients next to the server that acquire again at once. */
class FarWaiterTest {

  private static final int TURNS = 10;

  private final RedisServer redis = Testbed.redis().start();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void close() {
    threads.shutdownNow();
    redis.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 40})
  void aFarWaiterHasItsTurnsBesideANearClient(int holdMillis) throws Exception {
    try (FaultProxy distance = FaultProxy.to(redis.host(), redis.port());
        LockClient near = LockClient.open(redis.uri());
        LockClient far = LockClient.open("redis://127.0.0.1:" + distance.port())) {
      for (Direction direction : Direction.values()) {
        var unused = distance.delay(direction, Duration.ofMillis(5));
      }
      Queue<String> turns = new ConcurrentLinkedQueue<>();
      BooleanSupplier goesOn = () -> Collections.frequency(turns, "far") < TURNS;
      Future<?> competing =
          threads.submit(contend(near, holdMillis, goesOn, () -> turns.add("near")));
      Future<?> waiting = threads.submit(contend(far, holdMillis, goesOn, () -> turns.add("far")));
      waiting.get(60, TimeUnit.SECONDS);
      competing.get(60, TimeUnit.SECONDS);
      if (holdMillis > 0) {
        // It asks again before the other's turn has ended. On a busy machine it may be late.
        List<String> all = List.copyOf(turns);
        List<String> sinceItCame = all.subList(all.indexOf("far"), all.size());
        assertTrue(
            Collections.frequency(sinceItCame, "near") <= 3 * TURNS, () -> "turns " + sinceItCame);
      }
    }
  }

  private static Callable<Void> contend(
      LockClient client, int holdMillis, BooleanSupplier goesOn, Runnable turn) {
    return () -> {
      while (goesOn.getAsBoolean()) {
        try (Lease lease = client.lock("job").acquire()) {
          turn.run();
          TimeUnit.MILLISECONDS.sleep(holdMillis); // the work
        }
      }
      return null;
    };
  }

  @Test
  void manyClientsHaveTheirTurnsInOrder() throws Exception {
    int count = 20;
    Queue<Integer> turns = new ConcurrentLinkedQueue<>();
    List<Future<Void>> all =
        IntStream.range(0, count)
            .mapToObj(
                number ->
                    threads.submit(
                        () -> {
                          try (LockClient client = LockClient.open(redis.uri())) {
                            contend(
                                    client,
                                    2,
                                    () -> turns.size() < count * 10,
                                    () -> turns.add(number))
                                .call();
                          }
                          return (Void) null;
                        }))
            .toList();
    for (Future<Void> each : all) {
      each.get(60, TimeUnit.SECONDS);
    }
    // The first turns are of those that came while the lock was free.
    List<Integer> ordered = List.copyOf(turns).subList(count * 5, count * 10);
    for (int number = 0; number < count; number++) {
      int share = Collections.frequency(ordered, number);
      assertTrue(share >= 2 && share <= 10, () -> "turns " + ordered);
    }
  }
}
