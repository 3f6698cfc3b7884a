package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.isBusy;
import static dev.interlock.redis.Backends.take;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.Uninterruptibles;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.Subscriber;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.WakeUp;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.exceptions.JedisAccessControlException;

/** Waiters are notified of releases. A test that expects a signal waits for nothing else. */
class SubscriberTest {

  /** A short interval of probes. A connection whose server stands still for longer breaks. */
  private static final int QUICK_POKE = 200;

  @AutoClose private static final RedisServer redis = Testbed.redis().start();
  private LockBackend backend;
  private RedisClient jedis;
  private Subscriber subscriber;
  private Set<Thread> threadsBefore;

  @BeforeEach
  void open() throws Exception {
    redis.heal();
    redis.call("FLUSHALL");
    Eventually.holds("the subscribers before are gone", () -> subscribedConnections() == 0);
    threadsBefore = Thread.getAllStackTraces().keySet();
    backend = Backends.open(redis.uri());
    jedis = RedisClient.create(redis.host(), redis.port());
    subscriber = subscriber(Subscriber.PROBE_MILLIS);
  }

  private Subscriber subscriber(int probeMillis) {
    return subscriber(PooledNodes.ofUser(jedis::getPool)::dedicated, probeMillis);
  }

  private static Subscriber subscriber(Supplier<Connection> connections, int probeMillis) {
    return new Subscriber(
        connections, "interlock", new Failures("redis", "here", false), probeMillis);
  }

  /** Replaces the subscriber by one with a short interval of probes. */
  private void pokeQuickly() {
    subscriber.close();
    subscriber = subscriber(QUICK_POKE);
  }

  @AfterEach
  void close() {
    subscriber.close();
    jedis.close();
    backend.close();
  }

  @Test
  void aReleaseSignalsThoseWhoWaitForThatLock() throws Exception {
    Claim claim = claim("job");
    take(backend, claim);
    Claim second = claim("another job");
    take(backend, second);
    WakeUp waiter = waiting("job");
    WakeUp other = waiting("another job");

    backend.release(claim, Backends.soon());
    assertTrue(signalled(waiter));
    // What is published later arrives later: the other's first signal is from its own release.
    assertFalse(other.await(Deadline.in(Backends.TIME, Duration.ZERO)));
    backend.release(second, Backends.soon());
    assertTrue(signalled(other));
  }

  @Test
  void aForcedReleaseSignalsToo() throws Exception {
    take(backend, claim("job"));
    WakeUp waiter = waiting("job");
    backend.forceRelease("job", Backends.soon());
    assertTrue(signalled(waiter));
  }

  @Test
  void aWaiterIsSignalledOnceItsWatchIsInPlaceAndAtOnceIfItIsAlready() throws Exception {
    WakeUp first = new WakeUp(Backends.TIME);
    subscriber.watch(keys("job"), first);
    assertTrue(signalled(first));
    WakeUp second = new WakeUp(Backends.TIME);
    subscriber.watch(keys("job"), second);
    assertTrue(second.await(Deadline.in(Backends.TIME, Duration.ZERO)));
  }

  @Test
  void manyWaitersShareOneConnection() throws Exception {
    List<WakeUp> waiters = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      waiters.add(watching("job " + i % 100));
    }
    assertEquals(1, subscribedConnections());
    assertEquals(101, channels().size());
    for (int i = 0; i < 100; i++) {
      redis.call("PUBLISH", keys("job " + i).channel(), "");
    }
    for (WakeUp waiter : waiters) {
      assertTrue(signalled(waiter));
    }
  }

  @Test
  void aClosedWatchIsUnsubscribedFrom() throws Exception {
    WakeUp waiter = new WakeUp(Backends.TIME);
    Watch watch = subscriber.watch(keys("job"), waiter);
    assertTrue(signalled(waiter));
    assertTrue(channels().contains(keys("job").channel()));
    watch.close();
    watch.close();
    Eventually.holds("unsubscribed", () -> !channels().contains(keys("job").channel()));
  }

  @Test
  void theConnectionIsClosedWhenNobodyHasWaitedForAWhileAndMadeAgainForTheNext() throws Exception {
    pokeQuickly();
    WakeUp waiter = new WakeUp(Backends.TIME);
    Watch watch = subscriber.watch(keys("job"), waiter);
    assertTrue(signalled(waiter));
    watch.close();
    Eventually.holds("closed", () -> subscribedConnections() == 0);
    Eventually.holds("threads ended", () -> threads() == 0);

    WakeUp next = watching("job");
    Eventually.holds("listening", () -> channels().contains(keys("job").channel()));
    redis.call("PUBLISH", keys("job").channel(), "");
    assertTrue(signalled(next));
  }

  @Test
  void aConnectionThatBreaksSignalsEverybodyAndIsMadeAgain() throws Exception {
    WakeUp waiter = watching("job");
    for (int i = 0; i < 3; i++) {
      redis.call("CLIENT", "KILL", "TYPE", "pubsub");
      assertTrue(signalled(waiter), "of the loss");
      Eventually.holds("again", () -> channels().contains(keys("job").channel()));
      drain(waiter);
      redis.call("PUBLISH", keys("job").channel(), "");
      assertTrue(signalled(waiter), "of the release");
    }
  }

  @Test
  void aServerThatRestartsIsFoundAgain() throws Exception {
    WakeUp waiter = watching("job");
    redis.restart();
    assertTrue(signalled(waiter), "of the loss");
    Eventually.holds("again", () -> channels().contains(keys("job").channel()));
    drain(waiter);
    redis.call("PUBLISH", keys("job").channel(), "");
    assertTrue(signalled(waiter), "of the release");
  }

  @Test
  void aConnectionThatDiesSilentlyIsNoticed() throws Exception {
    pokeQuickly();
    WakeUp waiter = watching("job");
    redis.pause();
    try {
      // A paused server takes whatever is sent, and sends no error.
      assertTrue(signalled(waiter), "of the loss");
    } finally {
      redis.resume();
    }
    Eventually.holds("again", () -> channels().contains(keys("job").channel()));
    drain(waiter);
    redis.call("PUBLISH", keys("job").channel(), "");
    assertTrue(signalled(waiter), "of the release");
  }

  @Test
  void aServerThatNeverBeginsToListenIsLeft() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(redis.host(), redis.port())) {
      AtomicReference<NetworkFault> silence = new AtomicReference<>();
      try (Subscriber patient =
          subscriber(
              () -> {
                NetworkFault before = silence.get();
                if (before != null) {
                  before.close();
                }
                Connection made = new Connection("127.0.0.1", proxy.port());
                if (before == null) {
                  made.connect();
                  silence.set(proxy.blackHole(Direction.SERVER_TO_CLIENT));
                }
                return made;
              },
              QUICK_POKE)) {
        WakeUp waiter = new WakeUp(Backends.TIME);
        Watch unused = patient.watch(keys("job"), waiter);
        assertTrue(signalled(waiter), "of the loss");
        Eventually.holds("again", () -> channels().contains(keys("job").channel()));
      }
    }
  }

  /** There is a lack of memory, or of threads. */
  @Test
  void aJvmThatWasShortOfSomethingConnectsAgain() throws Exception {
    AtomicBoolean shortage = new AtomicBoolean(true);
    Supplier<Connection> connections = PooledNodes.ofUser(jedis::getPool)::dedicated;
    try (Subscriber hit =
        subscriber(
            () -> {
              if (shortage.getAndSet(false)) {
                throw new OutOfMemoryError("as a test wants it");
              }
              return connections.get();
            },
            Subscriber.PROBE_MILLIS)) {
      WakeUp waiter = new WakeUp(Backends.TIME);
      Watch unused = hit.watch(keys("job"), waiter);
      assertTrue(signalled(waiter));
    }
  }

  /** The connection lives on, but nothing would ever subscribe to that channel over it. */
  @Test
  void aJvmThatWasShortOfSomethingSubscribesAgain() throws Exception {
    AtomicInteger sent = new AtomicInteger();
    Supplier<Connection> connections =
        () ->
            new Connection(redis.host(), redis.port()) {
              @Override
              public void sendCommand(CommandArguments command) {
                if (sent.incrementAndGet() == 2) {
                  throw new OutOfMemoryError("as a test wants it");
                }
                super.sendCommand(command);
              }
            };
    try (Subscriber hit = subscriber(connections, Subscriber.PROBE_MILLIS)) {
      Watch unused = hit.watch(keys("job"), new WakeUp(Backends.TIME));
      Eventually.holds("subscribed", () -> channels().contains(keys("job").channel()));
    }
  }

  @Test
  void aQuietConnectionIsNotTakenForADeadOne() throws Exception {
    pokeQuickly();
    WakeUp waiter = watching("job");
    // What breaks quiet connections breaks each of them before that; a busy machine one at most.
    Duration quiet = Duration.ofMillis(5 * QUICK_POKE);
    Eventually.holds(
        quiet + " without a signal, on one connection",
        () -> {
          String id = subscriberId();
          return !waiter.await(Deadline.in(Backends.TIME, quiet)) && id.equals(subscriberId());
        });
  }

  @Test
  void watchingDoesNotWaitForAServerThatDoesNotAnswer() {
    redis.pause();
    // A request time-out each would add up to 200 s.
    assertTimeoutPreemptively(
        Duration.ofSeconds(60),
        () -> {
          for (int i = 0; i < 100; i++) {
            subscriber.watch(keys("job " + i), new WakeUp(Backends.TIME)).close();
          }
        });
    redis.resume();
  }

  @Test
  void watchingDoesNotWaitForALogThatBlocks() throws Exception {
    CountDownLatch blocked = new CountDownLatch(1);
    CountDownLatch unblocked = new CountDownLatch(1);
    PrintStream stderr = System.err;
    System.setErr(
        new PrintStream(stderr, true, UTF_8) {
          @Override
          public void println(String line) {
            if (line.contains("are not notified of releases")) {
              blocked.countDown();
              Uninterruptibles.awaitUninterruptibly(unblocked);
            }
            super.println(line);
          }
        });
    Supplier<Connection> refusing =
        () -> {
          throw new JedisAccessControlException("NOPERM no permission to subscribe");
        };
    try (Subscriber refused = subscriber(refusing, Subscriber.PROBE_MILLIS)) {
      try {
        refused.watch(keys("job"), new WakeUp(Backends.TIME));
        blocked.await();
        assertTimeoutPreemptively(
            Duration.ofSeconds(30),
            () -> refused.watch(keys("another job"), new WakeUp(Backends.TIME)));
      } finally {
        unblocked.countDown();
      }
    } finally {
      System.setErr(stderr);
    }
  }

  @Test
  void thePoolIsNotTouched() throws Exception {
    try (LockBackend narrow = Backends.open(redis.uri() + "?maxConnections=1")) {
      WakeUp waiter = new WakeUp(Backends.TIME);
      try (Watch watch = narrow.watch("job", waiter)) {
        assertTrue(signalled(waiter));
        Claim claim = claim("job");
        take(narrow, claim);
        assertTrue(isBusy(narrow, "job"));
        narrow.release(claim, Backends.soon());
        assertTrue(signalled(waiter));
      }
    }
  }

  @Test
  void watchesThatComeAndGoDoNotLoseTheirSignals() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<?>> coming = new ArrayList<>();
      for (int t = 0; t < 8; t++) {
        coming.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < 300; i++) {
                    LockKeys keys = keys("job " + ThreadLocalRandom.current().nextInt(4));
                    WakeUp waiter = new WakeUp(Backends.TIME);
                    try (Watch watch = subscriber.watch(keys, waiter)) {
                      if (ThreadLocalRandom.current().nextBoolean()) {
                        // The subscription is in place, even if others ended and began theirs
                        // meanwhile.
                        assertTrue(signalled(waiter));
                      }
                    }
                  }
                  return null;
                }));
      }
      for (Future<?> one : coming) {
        one.get();
      }
    } finally {
      threads.shutdownNow();
    }
    for (int i = 0; i < 4; i++) {
      LockKeys keys = keys("job " + i);
      WakeUp waiter = watching("job " + i);
      drain(waiter);
      redis.call("PUBLISH", keys.channel(), "");
      assertTrue(signalled(waiter));
    }
  }

  @Test
  void closingEndsTheConnectionAndTheThreads() throws Exception {
    WakeUp waiter = watching("job");
    subscriber.close();
    Eventually.holds("closed", () -> subscribedConnections() == 0);
    Eventually.holds("threads ended", () -> threads() == 0);
    // And is of no more use, but does no harm.
    subscriber.watch(keys("job"), waiter).close();
  }

  @Test
  void closingWhileItConnectsLeavesNothing() throws Exception {
    for (int i = 0; i < 30; i++) {
      try (LockBackend other = Backends.open(redis.uri())) {
        Watch unused = other.watch("job", new WakeUp(Backends.TIME));
        if (i % 2 == 0) {
          CountDownLatch asked = new CountDownLatch(1);
          new Thread(asked::countDown).start();
          asked.await();
        }
      }
    }
    Eventually.holds("closed", () -> subscribedConnections() == 0);
    Eventually.holds("threads ended", () -> threads() == 0);
  }

  @Test
  void withoutPermissionForTheChannelsLocksWorkAndWaitersAreNotTold() throws Exception {
    redis.call("ACL", "SETUSER", "mute", "on", ">pw", "resetchannels", "~interlock:*", "+@all");
    String uri = redis.uri().replace("redis://", "redis://mute:pw@");
    try (LockBackend mute = Backends.open(uri)) {
      Watch watch = mute.watch("job", new WakeUp(Backends.TIME));
      Claim claim = claim("job");
      take(mute, claim);
      assertTrue(isBusy(mute, "job"));
      assertTrue(mute.release(claim, Backends.soon()));
      assertFalse(mute.inspect("job", Backends.soon()).isHeld());
      watch.close();
    } finally {
      redis.call("ACL", "DELUSER", "mute");
    }
  }

  /** A waiter whose watch is in place, and who has consumed the signal that said so. */
  private WakeUp watching(String name) throws InterruptedException {
    WakeUp waiter = new WakeUp(Backends.TIME);
    Watch unused = subscriber.watch(keys(name), waiter);
    assertTrue(signalled(waiter));
    return waiter;
  }

  /** Returns a waiter that has subscribed, and has found the lock busy after that. */
  private WakeUp waiting(String name) throws InterruptedException {
    WakeUp waiter = new WakeUp(Backends.TIME);
    Watch unused = backend.watch(name, waiter);
    assertTrue(signalled(waiter));
    assertTrue(isBusy(backend, name));
    return waiter;
  }

  /**
   * Consumes what a watch that is re-established signals, and may still be about to: what is
   * published after this is the last to arrive.
   */
  private static void drain(WakeUp waiter) throws InterruptedException {
    boolean more;
    do {
      more = waiter.await(Deadline.in(Backends.TIME, Duration.ofMillis(100)));
    } while (more);
  }

  private static boolean signalled(WakeUp waiter) throws InterruptedException {
    return waiter.await(Deadline.in(Backends.TIME, Eventually.LIMIT));
  }

  private static LockKeys keys(String name) {
    return LockKeys.of("interlock", name);
  }

  private static List<?> channels() throws IOException {
    return (List<?>) redis.call("PUBSUB", "CHANNELS");
  }

  private static long subscribedConnections() throws IOException {
    return subscribers().lines().filter(line -> !line.isBlank()).count();
  }

  private static String subscriberId() throws IOException {
    return subscribers().replaceAll("(?s)^id=(\\d+) .*", "$1");
  }

  private static String subscribers() throws IOException {
    return (String) redis.call("CLIENT", "LIST", "TYPE", "pubsub");
  }

  private long threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> !threadsBefore.contains(thread))
        .filter(thread -> thread.getName().matches("interlock-redis-(subscriber|listener)"))
        .count();
  }
}
