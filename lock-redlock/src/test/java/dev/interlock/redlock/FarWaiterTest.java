package dev.interlock.redlock;

import static dev.interlock.redlock.Backends.eventually;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A client far away competes with clients next to the nodes that acquire again at once. */
class FarWaiterTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final int TURNS = 10;
  private static final LockOptions OPTIONS =
      LockOptions.builder()
          .ttl(Duration.ofSeconds(2))
          .requestTimeout(Duration.ofSeconds(20))
          .build();

  /** May neither publish nor subscribe. */
  private static final String MUTE = "mute:secret@";

  /** Shorter than a reservation. */
  private static final Duration TIME_TO_WAIT = Duration.ofMillis(250);

  private final RedlockNodes redlock =
      Testbed.redlockNodes()
          .nodes(3)
          .user("mute", "secret", "~* resetchannels +@all")
          .forFaults()
          .start();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<FaultProxy> distances = new ArrayList<>();

  @AfterEach
  void close() {
    threads.shutdownNow();
    distances.forEach(FaultProxy::close);
    redlock.close();
  }

  private String farUri(int delayMillis) throws Exception {
    for (RedisServer node : redlock.members()) {
      FaultProxy distance = FaultProxy.to(node.host(), node.port());
      distances.add(distance);
      for (Direction direction : Direction.values()) {
        var unused = distance.delay(direction, Duration.ofMillis(delayMillis));
      }
    }
    return distances.stream()
        .map(distance -> "127.0.0.1:" + distance.port())
        .collect(Collectors.joining(",", "redlock://", ""));
  }

  /** The kinds of locks for which the clients compete. */
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
        LockClient far = LockClient.open(farUri(5), OPTIONS)) {
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

  /** No message ends the pauses of a waiter that may not subscribe. */
  @ParameterizedTest
  @CsvSource({"LOCK, ''", "LOCK, " + MUTE, "WRITERS, ''", "WRITERS, " + MUTE})
  void aWaiterThatMayNotSubscribeHasItsTurns(Kind kind, String nearUser) throws Exception {
    try (LockClient near = LockClient.open(uri(nearUser), OPTIONS);
        LockClient deaf = LockClient.open(uri(MUTE), OPTIONS)) {
      Queue<String> turns = new ConcurrentLinkedQueue<>();
      BooleanSupplier goesOn = () -> Collections.frequency(turns, "deaf") < TURNS;
      Future<?> competing =
          threads.submit(contend(kind.near.apply(near), 20, goesOn, () -> turns.add("near")));
      Future<?> waiting =
          threads.submit(contend(kind.far.apply(deaf), 20, goesOn, () -> turns.add("deaf")));
      waiting.get(60, TimeUnit.SECONDS);
      competing.get(60, TimeUnit.SECONDS);
      // On a busy machine it may poll too late.
      List<String> all = List.copyOf(turns);
      List<String> sinceItCame = all.subList(all.indexOf("deaf"), all.size());
      assertTrue(
          Collections.frequency(sinceItCame, "near") <= 3 * TURNS, () -> "turns " + sinceItCame);
    }
  }

  /** At its deadline a waiter asks once more, and what is free is reserved for it. */
  @ParameterizedTest
  @EnumSource(names = {"LOCK", "WRITERS"})
  void aWaiterThatHasHeardNothingIsServedAtItsDeadline(Kind kind) throws Exception {
    eventually(
        "a release in time",
        () -> {
          for (RedisServer node : redlock.members()) {
            node.call("ACL", "LOG", "RESET");
          }
          try (LockClient near = LockClient.open(redlock.uri(), OPTIONS);
              LockClient deaf = LockClient.open(uri(MUTE), OPTIONS)) {
            Lease lease = kind.near.apply(near).acquire();
            long begun = System.nanoTime();
            Future<Optional<Lease>> waiting =
                threads.submit(() -> kind.far.apply(deaf).tryAcquire(TIME_TO_WAIT));
            for (RedisServer node : redlock.members()) {
              eventually(
                  "may not subscribe",
                  () -> waiting.isDone() || node.call("ACL", "LOG").toString().contains("channel"));
            }
            lease.release();
            boolean isInTime = System.nanoTime() - begun < TIME_TO_WAIT.toNanos();
            Optional<Lease> served = waiting.get(60, TimeUnit.SECONDS);
            served.ifPresent(Lease::release);
            assertTrue(served.isPresent() || !isInTime, "refused what was free");
            return isInTime;
          }
        });
  }

  private String uri(String user) {
    return redlock.uri().replace("://", "://" + user);
  }

  /** The waiter's request arrives after the first reservation has ended. */
  @Test
  @Tag("extended")
  void aWaiterThatIsSlowerThanAReservationIsServed() throws Exception {
    try (LockClient near = LockClient.open(redlock.uri(), OPTIONS);
        LockClient far = LockClient.open(farUri(170), OPTIONS)) {
      AtomicInteger served = new AtomicInteger();
      BooleanSupplier goesOn = () -> served.get() < 3;
      Future<?> competing = threads.submit(contend(near.lock("job"), 20, goesOn, () -> {}));
      Future<?> waiting =
          threads.submit(contend(far.lock("job"), 0, goesOn, served::incrementAndGet));
      waiting.get(60, TimeUnit.SECONDS);
      competing.get(60, TimeUnit.SECONDS);
    }
  }

  /** Once the waiter is dead, only the end of the reservation frees the lock. */
  @Test
  void aReservationOfBeforeTheClockWasSetBackKeepsNobodyOut() throws Exception {
    for (RedisServer node : redlock.members()) {
      node.call("SET", "interlock:{job}", "v3|reserved|dead", "PX", "3600000");
    }
    try (LockClient client = LockClient.open(redlock.uri(), OPTIONS)) {
      assertTrue(client.lock("job").tryAcquire(Duration.ofSeconds(60)).isPresent());
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
    CountDownLatch opened = new CountDownLatch(count);
    List<Future<Void>> all =
        IntStream.range(0, count)
            .mapToObj(
                number ->
                    threads.submit(
                        () -> {
                          try (LockClient client = LockClient.open(redlock.uri(), OPTIONS)) {
                            opened.countDown();
                            opened.await();
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
