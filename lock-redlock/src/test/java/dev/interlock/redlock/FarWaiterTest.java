package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.time.Duration;
import java.util.ArrayList;
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
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A client far away competes with clients next to the nodes that acquire again at once. */
class FarWaiterTest {

  private static final int TURNS = 10;
  private static final LockOptions OPTIONS =
      LockOptions.builder().ttl(Duration.ofSeconds(2)).build();

  private final RedlockNodes redlock = Testbed.redlockNodes().nodes(3).forFaults().start();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<FaultProxy> distances = new ArrayList<>();

  @AfterEach
  void close() {
    threads.shutdownNow();
    distances.forEach(FaultProxy::close);
    redlock.close();
  }

  private String farUri() throws Exception {
    for (RedisServer node : redlock.members()) {
      FaultProxy distance = FaultProxy.to(node.host(), node.port());
      distances.add(distance);
      for (Direction direction : Direction.values()) {
        var unused = distance.delay(direction, Duration.ofMillis(5));
      }
    }
    return distances.stream()
        .map(distance -> "127.0.0.1:" + distance.port())
        .collect(Collectors.joining(",", "redlock://", ""));
  }

  /** What the clients compete for. */
  @SuppressWarnings("ImmutableEnumChecker") // functions without state
  enum Kind {
    LOCK(client -> client.lock("job")),
    WRITERS(client -> client.readWriteLock("job").writeLock()),
    READER_BESIDE_A_WRITER(
        client -> client.readWriteLock("job").writeLock(),
        client -> client.readWriteLock("job").readLock());

    final Function<LockClient, Acquirable<Lease>> near;
    final Function<LockClient, Acquirable<Lease>> far;

    Kind(Function<LockClient, Acquirable<Lease>> all) {
      this(all, all);
    }

    Kind(
        Function<LockClient, Acquirable<Lease>> near, Function<LockClient, Acquirable<Lease>> far) {
      this.near = near;
      this.far = far;
    }
  }

  @ParameterizedTest
  @CsvSource({
    "LOCK, 0, 3",
    "LOCK, 40, 3",
    "LOCK, 40, 2",
    "WRITERS, 40, 3",
    "WRITERS, 40, 2",
    "READER_BESIDE_A_WRITER, 40, 3"
  })
  void aFarWaiterHasItsTurnsBesideANearClient(Kind kind, int holdMillis, int nodesAlive)
      throws Exception {
    try (LockClient near = LockClient.open(redlock.uri(), OPTIONS);
        LockClient far = LockClient.open(farUri(), OPTIONS)) {
      redlock.members().stream().skip(nodesAlive).forEach(RedisServer::kill);
      Queue<String> turns = new ConcurrentLinkedQueue<>();
      BooleanSupplier goesOn = () -> Collections.frequency(turns, "far") < TURNS;
      Future<?> competing =
          threads.submit(
              contend(kind.near.apply(near), holdMillis, goesOn, () -> turns.add("near")));
      Future<?> waiting =
          threads.submit(contend(kind.far.apply(far), holdMillis, goesOn, () -> turns.add("far")));
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
      Acquirable<Lease> lock, int holdMillis, BooleanSupplier goesOn, Runnable turn) {
    return () -> {
      while (goesOn.getAsBoolean()) {
        try (Lease lease = lock.acquire()) {
          turn.run();
          TimeUnit.MILLISECONDS.sleep(holdMillis); // the work
        }
      }
      return null;
    };
  }

  @Test
  void manyClientsHaveTheirTurnsInOrder() throws Exception {
    int count = 10;
    Queue<Integer> turns = new ConcurrentLinkedQueue<>();
    List<Future<Void>> all =
        IntStream.range(0, count)
            .mapToObj(
                number ->
                    threads.submit(
                        () -> {
                          try (LockClient client = LockClient.open(redlock.uri(), OPTIONS)) {
                            contend(
                                    client.lock("job"),
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
