package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.spi.WakeUp;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Several clients that share names on a real Redis: turns, messages, and lost replies. */
class SharedClientsTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final String LOCK = "interlock:{job}";
  private static final Pattern PUBLISHED = Pattern.compile("cmdstat_publish:calls=(\\d+)");

  /** A server, or this JVM, that stands still for a while costs no lease. */
  private static final LockOptions LONG_TIMEOUT =
      LockOptions.builder().requestTimeout(Duration.ofSeconds(20)).build();

  /** Waiters are notified of releases, and never poll while a test runs. */
  private static final LockOptions HEARING =
      LockOptions.builder()
          .requestTimeout(Duration.ofSeconds(20))
          .pollInterval(Duration.ofMinutes(10))
          .ttl(Duration.ofHours(1))
          .build();

  @AutoClose private static final RedisServer redis = Testbed.redis().start();

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<LockClient> clients = new ArrayList<>();

  @BeforeEach
  void clear() throws IOException {
    redis.call("FLUSHALL");
    redis.call("CONFIG", "RESETSTAT");
  }

  @AfterEach
  void close() {
    clients.forEach(LockClient::close);
    threads.shutdownNow();
  }

  private LockClient client(LockOptions options) {
    LockClient client = LockClient.open(redis.uri(), options);
    clients.add(client);
    return client;
  }

  private static <T> T end(Future<T> future) throws Exception {
    return future.get(Eventually.LIMIT.toSeconds(), TimeUnit.SECONDS);
  }

  // --- turns ------------------------------------------------------------------------------------

  @Test
  void aWriterIsServedBesideAStreamOfReaders() throws Exception {
    AtomicBoolean reading = new AtomicBoolean(true);
    List<Future<Integer>> readers = new ArrayList<>();
    for (int c = 0; c < 4; c++) {
      LockClient client = client(LONG_TIMEOUT);
      readers.add(threads.submit(() -> useWhile(reading, client.readWriteLock("job").readLock())));
    }
    LockClient writing = client(LONG_TIMEOUT);
    for (int i = 0; i < 10; i++) {
      assertTrue(
          end(threads.submit(() -> writing.readWriteLock("job").writeLock().acquire()))
              .release()
              .equals(ReleaseOutcome.RELEASED));
    }
    reading.set(false);
    for (Future<Integer> reader : readers) {
      assertTrue(end(reader) > 0);
    }
  }

  @Test
  void readersAreServedBesideAStreamOfWriters() throws Exception {
    AtomicBoolean writing = new AtomicBoolean(true);
    List<Future<Integer>> writers = new ArrayList<>();
    for (int c = 0; c < 4; c++) {
      LockClient client = client(LONG_TIMEOUT);
      writers.add(threads.submit(() -> useWhile(writing, client.readWriteLock("job").writeLock())));
    }
    LockClient reading = client(LONG_TIMEOUT);
    for (int i = 0; i < 10; i++) {
      try (Lease lease =
          end(threads.submit(() -> reading.readWriteLock("job").readLock().acquire()))) {
        assertTrue(lease.isHeld());
      }
    }
    writing.set(false);
    for (Future<Integer> writer : writers) {
      assertTrue(end(writer) > 0);
    }
  }

  /** Holds it most of the time. */
  private static int useWhile(AtomicBoolean used, Acquirable<Lease> lock) throws Exception {
    int times = 0;
    while (used.get()) {
      try (Lease lease = lock.acquire()) {
        assertTrue(lease.isHeld());
        LockSupport.parkNanos(10_000_000);
      }
      times++;
    }
    return times;
  }

  /** The requests are sent separately, or joined. */
  @ParameterizedTest
  @ValueSource(ints = {PooledNode.NEVER_JOINED, 0})
  void permitsOfManyClientsNeverExceedTheLimitWhateverConnectionsBreak(int maxSeparate)
      throws Exception {
    int limit = 5;
    AtomicInteger used = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    AtomicInteger granted = new AtomicInteger();
    try (FaultProxy proxy = FaultProxy.to(redis.host(), redis.port())) {
      List<Future<?>> all = new ArrayList<>();
      for (int c = 0; c < 3; c++) {
        LockClient client =
            Backends.client("redis://127.0.0.1:" + proxy.port(), LONG_TIMEOUT, maxSeparate);
        clients.add(client);
        for (int t = 0; t < 4; t++) {
          int permits = 1 + t % 3;
          all.add(
              threads.submit(
                  () -> {
                    for (int i = 0; i < 15; i++) {
                      try (Lease lease =
                          client.semaphore("job", limit).permits(permits).acquire()) {
                        granted.incrementAndGet();
                        int now = used.addAndGet(permits);
                        most.accumulateAndGet(now, Math::max);
                        assertTrue(now <= limit, () -> now + " of " + limit);
                        assertTrue(lease.fencingToken() > 0);
                        LockSupport.parkNanos(1_000_000); // lets others in
                        used.addAndGet(-permits);
                      }
                    }
                    return null;
                  }));
        }
      }
      int hit = 0;
      int before = 0;
      for (Future<?> one : all) {
        while (!one.isDone()) {
          if (granted.get() > before) { // a busy machine must get somewhere between two resets
            before = granted.get();
            hit += proxy.reset();
          }
          LockSupport.parkNanos(30_000_000);
        }
        one.get();
      }
      assertTrue(hit > 0, "no connection was reset");
    }
    assertTrue(most.get() > 3, "they were never used together");
    Eventually.holds("all are given back", () -> redis.call("EXISTS", LOCK).equals(0L));
  }

  // --- messages ---------------------------------------------------------------------------------

  @Test
  void aWaiterHearsOfTheReleaseThatMakesRoomForIt() throws Exception {
    LockClient holding = client(HEARING);
    LockClient waiting = client(HEARING);
    Lease first = holding.semaphore("job", 4).permits(2).acquire();
    Lease second = holding.semaphore("job", 4).permits(1).acquire();
    Future<Lease> three = threads.submit(() -> waiting.semaphore("job", 4).permits(3).acquire());
    awaitWaiting(3);
    second.release();
    assertFalse(three.isDone());
    first.release();
    end(three).release();

    Lease writer = holding.readWriteLock("rw").writeLock().acquire();
    Future<Lease> reader = threads.submit(() -> waiting.readWriteLock("rw").readLock().acquire());
    awaitListening(2);
    writer.release();
    Lease read = end(reader);
    Future<Lease> next = threads.submit(() -> holding.readWriteLock("rw").writeLock().acquire());
    awaitListening(3);
    read.release();
    end(next).release();
  }

  /** Waits until a waiter is in the queue, and has asked again after it subscribed. */
  private static void awaitWaiting(int weight) throws Exception {
    awaitListening(1);
    assertTrue(
        redis.call("ZRANGE", LOCK, "-1", "-1").toString().startsWith("[line|" + weight + ":"));
  }

  /** Each waiter asks once before it subscribes, and once after that. */
  private static void awaitListening(int number) throws Exception {
    Eventually.holds(
        "asked again",
        () -> {
          Matcher subscribed =
              Pattern.compile("cmdstat_subscribe:calls=(\\d+)")
                  .matcher((String) redis.call("INFO", "commandstats"));
          return subscribed.find() && Integer.parseInt(subscribed.group(1)) > number;
        });
  }

  @Test
  void nothingIsPublishedWithoutAWaiterOrWithoutRoomForIt() throws Exception {
    try (LockBackend backend = Backends.open(redis.uri())) {
      for (Share share : List.of(Share.READ, Share.WRITE, Share.ofSemaphore(2, 3))) {
        Claim claim = claim("job", share);
        take(backend, claim);
        assertInstanceOf(Attempt.Busy.class, tryWhole(backend, share, Duration.ZERO));
        assertTrue(backend.release(claim, soon()));
      }
      List<Claim> readers = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        readers.add(claim("job", Share.READ));
        take(backend, readers.get(i));
      }
      assertInstanceOf(Attempt.Busy.class, tryWhole(backend, Share.READ, Duration.ofMinutes(10)));
      for (Claim reader : readers.subList(0, 9)) {
        assertTrue(backend.release(reader, soon()));
      }
      assertEquals(0, published());
      assertTrue(backend.release(readers.get(9), soon()));
      assertEquals(1, published(), "the last of them makes room");
    }
  }

  @Test
  void aForcedReleaseIsPublishedToThoseWhoWait() throws Exception {
    WakeUp news = new WakeUp(Backends.TIME);
    try (LockBackend backend = Backends.open(redis.uri());
        Watch watch = backend.watch("job", news)) {
      assertTrue(news.await(Deadline.in(Backends.TIME, Eventually.LIMIT)), "in place");
      take(backend, claim("job", Share.READ));
      take(backend, claim("job", Share.READ));
      tryWhole(backend, Share.READ, Duration.ofMinutes(10));
      assertTrue(backend.forceRelease("job", soon()));
      assertTrue(news.await(Deadline.in(Backends.TIME, Eventually.LIMIT)));
    }
  }

  private static Attempt tryWhole(LockBackend backend, Share share, Duration reservation)
      throws InterruptedException {
    Share whole = new Share(share.kind(), share.capacity(), share.capacity());
    return backend.tryAcquire(claim("job", whole, Backends.TTL, reservation), soon());
  }

  private static int published() throws IOException {
    Matcher calls = PUBLISHED.matcher((String) redis.call("INFO", "commandstats"));
    return calls.find() ? Integer.parseInt(calls.group(1)) : 0;
  }

  // --- lost replies -----------------------------------------------------------------------------

  @Test
  void aGrantWhoseReplyIsLostIsFoundByItsClaim() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(redis.host(), redis.port());
        LockBackend backend = Backends.open("redis://127.0.0.1:" + proxy.port())) {
      for (Share share : List.of(Share.READ, Share.WRITE, Share.ofSemaphore(2, 3))) {
        take(backend, claim("teach the script", share));
        Claim claim = claim("job", share);
        try (NetworkFault lost = proxy.loseReplies(claim.id())) {
          Eventually.holds(
              "sent in time",
              () ->
                  !assertThrows(
                          LockUnavailableException.class,
                          () ->
                              backend.tryAcquire(
                                  claim, Deadline.in(Backends.TIME, Duration.ofMillis(300))))
                      .getMessage()
                      .contains("the deadline passed before"));
        }
        Eventually.holds("it is carried out", () -> backend.inspect("job", soon()).isHeld());
        assertTrue(backend.release(claim, soon()));
        assertFalse(backend.inspect("job", soon()).isHeld());
        redis.call("FLUSHALL");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {PooledNode.NEVER_JOINED, 0})
  void aReleaseWhoseReplyIsLostIsInDoubtAndNoLoss(int maxSeparate) throws Exception {
    try (FaultProxy proxy = FaultProxy.to(redis.host(), redis.port());
        LockClient client =
            Backends.client("redis://127.0.0.1:" + proxy.port(), HEARING, maxSeparate)) {
      client.semaphore("teach the scripts", 3).acquire().release();
      LockClient direct = client(HEARING);
      Lease other = direct.semaphore("job", 3).acquire();
      Lease lease = client.semaphore("job", 3).permits(2).acquire();
      CompletableFuture<ReleaseOutcome> release;
      // Not the next reply, which may be the greeting of another lane's new connection.
      try (NetworkFault lost = proxy.loseReplies("interlock:{job}")) {
        release = CompletableFuture.supplyAsync(lease::release);
        assertTrue(lost.awaitHit(Duration.ofSeconds(15)), "the server has answered");
        assertEquals(1, direct.admin().inspect("job").holders().size(), "it was carried out");
      }
      assertEquals(ReleaseOutcome.UNKNOWN, release.get());
      assertFalse(lease.onLoss().isDone(), "it was not taken away");
      client.semaphore("job", 3).permits(2).tryAcquire().orElseThrow().release();
      assertEquals(ReleaseOutcome.RELEASED, other.release());
    }
  }

  // --- kinds ------------------------------------------------------------------------------------

  @Test
  void aNameThatIsUsedInAnotherWayIsRefusedWithTheReason() throws Exception {
    LockClient one = client(LONG_TIMEOUT);
    LockClient other = client(LONG_TIMEOUT);
    try (Lease lease = one.semaphore("job", 3).acquire()) {
      for (Acquirable<Lease> wrong :
          List.of(
              other.lock("job"),
              other.readWriteLock("job").readLock(),
              other.readWriteLock("job").writeLock(),
              other.semaphore("job", 4))) {
        LockConfigurationException e =
            assertThrows(
                LockConfigurationException.class, () -> wrong.tryAcquire(Duration.ofMinutes(1)));
        assertTrue(
            e.getMessage().contains("\"job\" is in use as a semaphore of 3 permits"),
            e::getMessage);
      }
      assertTrue(lease.isHeld());
      other.semaphore("job", 3).permits(2).acquire().release();
    }
    other.lock("job").acquire().release();
  }

  /** The waiter is notified of the release, and others may be quicker. */
  @Test
  void aNameThatIsWaitedForIsNotTakenInAnotherWayBetweenItsHolders() throws Exception {
    LockClient reading = client(LONG_TIMEOUT);
    LockClient writing = client(LONG_TIMEOUT);
    LockClient other = client(LONG_TIMEOUT);
    for (int round = 0; round < 20; round++) {
      Lease reader = reading.readWriteLock("job").readLock().acquire();
      Future<Lease> writer =
          threads.submit(() -> writing.readWriteLock("job").writeLock().acquire());
      Eventually.holds("it waits", () -> redis.call("ZCOUNT", LOCK, "+inf", "+inf").equals(1L));
      reader.release();
      assertThrows(LockConfigurationException.class, other.lock("job")::tryAcquire);
      assertThrows(LockConfigurationException.class, other.semaphore("job", 2)::tryAcquire);
      end(writer).release();
    }
  }

  // --- a primary that has become a replica ------------------------------------------------------

  /** The locks that it shows are stale, and the new primary may have others. */
  @Test
  void aReplicaSaysNothingAboutShares() throws Exception {
    try (RedisServer mortal = Testbed.redis().start();
        LockBackend backend = Backends.open(mortal.uri())) {
      Grant reader = take(backend, claim("job", Share.READ));
      Grant lock = take(backend, claim("lock"));
      Claim lost = claim("job", Share.READ);
      mortal.demote();
      List<Share> shares =
          List.of(Share.READ, Share.WRITE, Share.ofSemaphore(1, 2), Share.EXCLUSIVE);
      for (Share share : shares) {
        for (String name : List.of("job", "lock")) {
          assertUnavailable(() -> backend.tryAcquire(claim(name, share), soon()));
          assertUnavailable(() -> backend.release(claim(name, share), soon()));
          Grant never = Grant.forTtl(claim(name, share), 1);
          assertInstanceOf(Renewal.Failed.class, backend.renew(never, soon()), share::toString);
        }
      }
      assertUnavailable(() -> backend.release(lost, soon()));
      assertUnavailable(() -> backend.inspect("job", soon()));
      assertUnavailable(() -> backend.forceRelease("job", soon()));
      assertUnavailable(() -> backend.revoke("job", soon()));
      mortal.promote();
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(reader, soon()));
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(lock, soon()));
      assertEquals(
          Set.of(
              "interlock:{job}",
              "interlock:{job}:fence",
              "interlock:{lock}",
              "interlock:{lock}:fence"),
          mortal.keys().keySet());
    }
  }

  private static void assertUnavailable(Executable action) {
    LockUnavailableException e = assertThrows(LockUnavailableException.class, action);
    assertTrue(e.getMessage().contains("is a read-only replica"), e::getMessage);
  }

  @Test
  void aTimedAttemptEndsInTimeAndItsPlaceInTheLineWithIt() throws Exception {
    LockClient one = client(LONG_TIMEOUT);
    LockClient other = client(LONG_TIMEOUT);
    try (Lease lease = one.readWriteLock("job").readLock().acquire()) {
      Acquirable<Lease> writer = other.readWriteLock("job").writeLock();
      assertTrue(writer.tryAcquire().isEmpty()); // connected, so that a second is enough below
      assertTrue(writer.tryAcquire(Duration.ofSeconds(1)).isEmpty());
      assertTrue(lease.isHeld());
      client(LONG_TIMEOUT).readWriteLock("job").readLock().acquire().release();
    }
  }
}
