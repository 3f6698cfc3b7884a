package dev.interlock.redis;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
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
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A client far away competes with clients next to the server that acquire again at once. */
class FarWaiterTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final int TURNS = 10;
  private static final LockOptions LONG_TIMEOUT =
      LockOptions.builder().requestTimeout(Duration.ofSeconds(20)).build();

  /** May neither publish nor subscribe. */
  private static final String MUTE = "mute:secret@";

  /** Shorter than a reservation. */
  private static final Duration TIME_TO_WAIT = Duration.ofMillis(250);

  private final RedisServer redis =
      Testbed.redis().user("mute", "secret", "~* resetchannels +@all").start();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void close() {
    threads.shutdownNow();
    redis.close();
  }

  /** The kinds of locks for which the clients compete. */
  @SuppressWarnings("ImmutableEnumChecker") // functions without state
  enum Kind {
    LOCK(1, 3, client -> client.lock("job")),
    ONE_PERMIT(1, 3, client -> client.semaphore("job", 1)),
    TWO_PERMITS(2, 6, client -> client.semaphore("job", 2)),
    TWO_AT_ONCE(1, 3, client -> client.semaphore("job", 3).permits(2)),
    WRITERS(1, 3, client -> client.readWriteLock("job").writeLock()),
    /** Readers come again for 200 ms before it is the writer's turn. */
    WRITER_BESIDE_READERS(
        2,
        30,
        client -> client.readWriteLock("job").readLock(),
        client -> client.readWriteLock("job").writeLock()),
    READER_BESIDE_WRITERS(
        2,
        6,
        client -> client.readWriteLock("job").writeLock(),
        client -> client.readWriteLock("job").readLock());

    final int nearClients;

    /** For each turn of the far client. */
    final int maxNearTurns;

    final Function<LockClient, Acquirable<Lease>> near;
    final Function<LockClient, Acquirable<Lease>> far;

    Kind(int nearClients, int maxNearTurns, Function<LockClient, Acquirable<Lease>> all) {
      this(nearClients, maxNearTurns, all, all);
    }

    Kind(
        int nearClients,
        int maxNearTurns,
        Function<LockClient, Acquirable<Lease>> near,
        Function<LockClient, Acquirable<Lease>> far) {
      this.nearClients = nearClients;
      this.maxNearTurns = maxNearTurns;
      this.near = near;
      this.far = far;
    }
  }

  @ParameterizedTest
  @EnumSource
  void aFarWaiterHasItsTurnsBesideNearClients(Kind kind) throws Exception {
    try (FaultProxy distance = FaultProxy.to(redis.host(), redis.port());
        LockClient near = LockClient.open(redis.uri(), LONG_TIMEOUT);
        LockClient alsoNear = LockClient.open(redis.uri(), LONG_TIMEOUT);
        LockClient far = LockClient.open("redis://127.0.0.1:" + distance.port(), LONG_TIMEOUT)) {
      for (Direction direction : Direction.values()) {
        var unused = distance.delay(direction, Duration.ofMillis(5));
      }
      Queue<String> turns = new ConcurrentLinkedQueue<>();
      BooleanSupplier goesOn = () -> Collections.frequency(turns, "far") < TURNS;
      List<Future<?>> competing = new ArrayList<>();
      for (LockClient client : List.of(near, alsoNear).subList(0, kind.nearClients)) {
        Acquirable<Lease> lock = kind.near.apply(client);
        competing.add(threads.submit(contend(lock, 40, goesOn, () -> turns.add("near"))));
        TimeUnit.MILLISECONDS.sleep(20); // so that their holds overlap
      }
      Acquirable<Lease> lock = kind.far.apply(far);
      Future<?> waiting = threads.submit(contend(lock, 40, goesOn, () -> turns.add("far")));
      waiting.get(60, TimeUnit.SECONDS);
      for (Future<?> each : competing) {
        each.get(60, TimeUnit.SECONDS);
      }
      // It asks again before the others' turns have ended. On a busy machine it may be late.
      List<String> all = List.copyOf(turns);
      List<String> sinceItCame = all.subList(all.indexOf("far"), all.size());
      assertTrue(
          Collections.frequency(sinceItCame, "near") <= kind.maxNearTurns * TURNS,
          () -> "turns " + sinceItCame);
    }
  }

  @Test
  void aFarWaiterIsServedBesideOneThatNeverPauses() throws Exception {
    try (FaultProxy distance = FaultProxy.to(redis.host(), redis.port());
        LockClient near = LockClient.open(redis.uri(), LONG_TIMEOUT);
        LockClient far = LockClient.open("redis://127.0.0.1:" + distance.port(), LONG_TIMEOUT)) {
      for (Direction direction : Direction.values()) {
        var unused = distance.delay(direction, Duration.ofMillis(5));
      }
      AtomicInteger served = new AtomicInteger();
      BooleanSupplier goesOn = () -> served.get() < TURNS;
      Future<?> competing = threads.submit(contend(near.lock("job"), 0, goesOn, () -> {}));
      Future<?> waiting =
          threads.submit(contend(far.lock("job"), 0, goesOn, served::incrementAndGet));
      waiting.get(60, TimeUnit.SECONDS);
      competing.get(60, TimeUnit.SECONDS);
    }
  }

  /** No message ends the pauses of a waiter that may not subscribe. */
  @ParameterizedTest
  @CsvSource({"LOCK, ''", "LOCK, " + MUTE, "WRITERS, ''", "ONE_PERMIT, " + MUTE})
  void aWaiterThatMayNotSubscribeHasItsTurns(Kind kind, String nearUser) throws Exception {
    try (LockClient near = LockClient.open(uri(nearUser), LONG_TIMEOUT);
        LockClient deaf = LockClient.open(uri(MUTE), LONG_TIMEOUT)) {
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
  @EnumSource(names = {"LOCK", "ONE_PERMIT", "WRITERS"})
  void aWaiterThatHasHeardNothingIsServedAtItsDeadline(Kind kind) throws Exception {
    Eventually.holds(
        "a release in time",
        () -> {
          redis.call("ACL", "LOG", "RESET");
          try (LockClient near = LockClient.open(redis.uri(), LONG_TIMEOUT);
              LockClient deaf = LockClient.open(uri(MUTE), LONG_TIMEOUT)) {
            Lease lease = kind.near.apply(near).acquire();
            long begun = System.nanoTime();
            Future<Optional<Lease>> waiting =
                threads.submit(() -> kind.far.apply(deaf).tryAcquire(TIME_TO_WAIT));
            Eventually.holds(
                "may not subscribe",
                () -> waiting.isDone() || redis.call("ACL", "LOG").toString().contains("channel"));
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
    return redis.uri().replace("://", "://" + user);
  }

  /** The waiter's request arrives after the first reservation has ended. */
  @ParameterizedTest
  @EnumSource(names = {"LOCK", "WRITERS"})
  @Tag("extended")
  void aWaiterThatIsSlowerThanAReservationIsServed(Kind kind) throws Exception {
    try (FaultProxy distance = FaultProxy.to(redis.host(), redis.port());
        LockClient near = LockClient.open(redis.uri(), LONG_TIMEOUT)) {
      for (Direction direction : Direction.values()) {
        var unused = distance.delay(direction, Duration.ofMillis(170));
      }
      try (LockClient far = LockClient.open("redis://127.0.0.1:" + distance.port(), LONG_TIMEOUT)) {
        AtomicInteger served = new AtomicInteger();
        BooleanSupplier goesOn = () -> served.get() < 3;
        Future<?> competing = threads.submit(contend(kind.near.apply(near), 20, goesOn, () -> {}));
        Future<?> waiting =
            threads.submit(contend(kind.far.apply(far), 0, goesOn, served::incrementAndGet));
        waiting.get(60, TimeUnit.SECONDS);
        competing.get(60, TimeUnit.SECONDS);
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
    int count = 20;
    Queue<Integer> turns = new ConcurrentLinkedQueue<>();
    CountDownLatch opened = new CountDownLatch(count);
    List<Future<Void>> all =
        IntStream.range(0, count)
            .mapToObj(
                number ->
                    threads.submit(
                        () -> {
                          try (LockClient client = LockClient.open(redis.uri(), LONG_TIMEOUT)) {
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
