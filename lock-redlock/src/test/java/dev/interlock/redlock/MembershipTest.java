package dev.interlock.redlock;

import static dev.interlock.redlock.Backends.claim;
import static dev.interlock.redlock.Backends.eventually;
import static dev.interlock.redlock.Backends.soon;
import static dev.interlock.redlock.Backends.take;
import static dev.interlock.redlock.Backends.tryTake;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Two clients: one lists A, B and C, the other A, B and D. */
class MembershipTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final String QUERY = "?nodeTimeout=5s&maxTtl=";
  private static final String RECORD = "interlock:redlock";

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final AtomicBoolean over = new AtomicBoolean();
  private RedlockNodes redlock;
  private RedisServer a;
  private RedisServer b;
  private RedisServer c;
  private RedisServer d;

  @BeforeEach
  void startNodes() {
    redlock = Testbed.redlockNodes().nodes(4).forFaults().start();
    List<RedisServer> all = redlock.members();
    a = all.get(0);
    b = all.get(1);
    c = all.get(2);
    d = all.get(3);
  }

  @AfterEach
  void stopNodes() {
    over.set(true);
    threads.shutdownNow();
    redlock.close();
  }

  private static String uri(String maxTtl, RedisServer... nodes) {
    List<String> addresses = Stream.of(nodes).map(node -> "127.0.0.1:" + node.port()).toList();
    return "redlock://" + String.join(",", addresses) + QUERY + maxTtl;
  }

  private static boolean isListed(RedisServer node, RedisServer on) throws Exception {
    return listing(on, node) != null;
  }

  /** Whether its listing is too old to count; the next exchange of listings removes it. */
  private static boolean isForgotten(RedisServer node, RedisServer on, Duration maxTtl)
      throws Exception {
    String line = listing(on, node);
    return line != null && now(on) - millis(line) > maxTtl.toMillis();
  }

  private static int up(RedisServer node) throws Exception {
    return Integer.parseInt(node.info("server", "uptime_in_seconds"));
  }

  /** Acquires locks until the end of the test, so that the client keeps listing its nodes. */
  private Future<?> use(LockBackend backend) {
    return threads.submit(
        () -> {
          while (!over.get()) {
            useOnce(backend);
            Thread.sleep(50);
          }
          return null;
        });
  }

  private static void useOnce(LockBackend backend) throws InterruptedException {
    Optional<Grant> grant = tryTake(backend, claim("used", Duration.ofSeconds(1)));
    if (grant.isPresent()) {
      backend.release(grant.get().claim(), soon());
    }
  }

  @Test
  void aClientWithAnotherNodeIsRefusedWithoutDisturbingOthers() throws Exception {
    try (LockBackend backend = Backends.open(uri("4s", a, b, c))) {
      var unused = use(backend);
      eventually("A and B know C", () -> isListed(c, a) && isListed(c, b));
      eventually("D has been there for some time", () -> up(d) >= 6);
      String message =
          assertThrows(
                  LockConfigurationException.class, () -> Backends.open(uri("4s", d, a, b)).close())
              .getMessage();
      assertTrue(message.contains(":" + d.port() + ": is not among the 3 nodes"), message);
      assertTrue(message.contains("they listed 127.0.0.1:" + c.port() + " "), message);
      assertEquals(0L, d.call("EXISTS", RECORD));
      assertNull(a.call("HGET", RECORD, "node " + d.info("server", "run_id")));
      // By other names they are the same nodes.
      String byOtherNames = uri("4s", c, b, a).replace("127.0.0.1", "localhost");
      Backends.open(byOtherNames).close();
    }
  }

  /** At first D may be C, restarted, because no client lists C after D has started. */
  @Test
  void aNodeDoesNotVoteWhileOthersUseAnotherInItsPlace() throws Exception {
    try (LockBackend backend = Backends.open(uri("4s", a, b, c))) {
      useOnce(backend);
      eventually("A and B know C", () -> isListed(c, a) && isListed(c, b));
      d.restartEmpty();
      String byOtherNames = uri("4s", a, b, d).replace("127.0.0.1", "localhost");
      try (LockBackend newcomer = Backends.open(byOtherNames)) {
        Future<?> use = use(backend);
        eventually("its quarantine is over", () -> isOver(d));
        for (int looks = 0; looks < 4; looks++) {
          String before = listing(a, b);
          eventually(
              "the newcomer has looked again",
              () -> {
                String line = listing(a, b);
                return line != null && line.contains("localhost") && !line.equals(before);
              });
          assertNull(d.call("HGET", RECORD, "run"));
        }
        over.set(true);
        use.get();
        backend.close();
        var unused = use(newcomer);
        eventually("D votes when no client uses C", () -> d.call("HGET", RECORD, "run") != null);
      }
    }
  }

  @Test
  void aClientThatComesBackWhenANodeHasBeenReplacedIsRefused() throws Exception {
    Duration maxTtl = Duration.ofSeconds(2);
    try (LockBackend idle = Backends.open(uri("2s", a, b, c))) {
      useOnce(idle);
      eventually(
          "A and B have forgotten C", () -> isForgotten(c, a, maxTtl) && isForgotten(c, b, maxTtl));
      d.restartEmpty();
      try (LockBackend newcomer = Backends.open(uri("2s", a, b, d))) {
        eventually("D votes", () -> d.call("HGET", RECORD, "run") != null);
        var unused = use(newcomer);
        eventually("A and B know D", () -> isListed(d, a) && isListed(d, b));
        for (int tries = 0; tries < 3; tries++) {
          String message =
              assertThrows(
                      LockConfigurationException.class,
                      () -> take(idle, claim("job", Duration.ofSeconds(1))))
                  .getMessage();
          assertTrue(message.contains(":" + c.port() + ": is not among the 3 nodes"), message);
        }
      }
    }
  }

  /** The client keeps trying, and reaches C, which the others have replaced. */
  @Test
  void aClientThatWasCutOffWhileANodeWasReplacedIsRefused() throws Exception {
    Duration maxTtl = Duration.ofSeconds(2);
    try (FaultProxy toA = FaultProxy.to(a.host(), a.port());
        FaultProxy toB = FaultProxy.to(b.host(), b.port());
        LockBackend cutOff =
            Backends.open(
                "redlock://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d%s2s"
                    .formatted(toA.port(), toB.port(), c.port(), QUERY))) {
      useOnce(cutOff);
      toA.cut();
      toB.cut();
      Future<LockConfigurationException> refused =
          threads.submit(() -> tryUntilRefused(cutOff, claim("job", Duration.ofSeconds(1))));
      eventually(
          "A and B have forgotten C", () -> isForgotten(c, a, maxTtl) && isForgotten(c, b, maxTtl));
      d.restartEmpty();
      try (LockBackend newcomer = Backends.open(uri("2s", a, b, d))) {
        eventually("D votes", () -> d.call("HGET", RECORD, "run") != null);
        var unused = use(newcomer);
        eventually("A and B know D", () -> isListed(d, a) && isListed(d, b));
        toA.heal();
        toB.heal();
        String message = String.valueOf(refused.get(1, TimeUnit.MINUTES).getMessage());
        assertTrue(message.contains(":" + c.port() + ": is not among the 3 nodes"), message);
      }
    }
  }

  @Test
  void aClientComesBackWhileANodeIsDownAndAnotherIsFar() throws Exception {
    try (FaultProxy toB = FaultProxy.to(b.host(), b.port());
        LockBackend idle =
            Backends.open(
                "redlock://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d%s2s"
                    .formatted(a.port(), toB.port(), c.port(), QUERY))) {
      useOnce(idle);
      c.kill();
      eventually("it is idle", () -> isForgotten(a, a, Duration.ofSeconds(2)));
      var unused = toB.delay(Direction.SERVER_TO_CLIENT, Duration.ofMillis(100));
      take(idle, claim("job", Duration.ofSeconds(1)));
    }
  }

  private LockConfigurationException tryUntilRefused(LockBackend backend, Claim claim)
      throws InterruptedException {
    while (true) {
      try {
        assertEquals(Optional.empty(), tryTake(backend, claim), "two majorities");
      } catch (LockConfigurationException refused) {
        return refused;
      }
      Thread.sleep(50);
    }
  }

  /** The node reports a negative uptime, and a listing of ours that lies in the future. */
  @Test
  void aNodeWhoseClockIsSetBackIsStillRecognised() throws Exception {
    Duration ahead = Duration.ofMinutes(10);
    try (RedlockNodes others =
            Testbed.firstAvailable(
                Testbed.redlockNodes().nodes(3).clocksAhead(ahead).forFaults(),
                Testbed.redlockNodes().nodes(3).forFaults());
        LockBackend backend = Backends.open(others.uri() + QUERY + "2s")) {
      RedisServer first = others.members().get(0);
      assumeTrue(first.canSetClock() || Testbed.requiresAll(), "a wrong clock needs a C compiler");
      var unused = use(backend);
      eventually("it knows itself", () -> isListed(first, first));
      String before = listing(first, first);
      first.setClock(Duration.ZERO);
      assertTrue(up(first) < 0, "the clock was not set back");
      Backends.open(others.uri() + QUERY + "2s").close();
      eventually(
          "its listing in the future is dropped",
          () -> isListed(first, first) && millis(listing(first, first)) < millis(before));
    }
  }

  private static long millis(String line) {
    return Long.parseLong(line.substring(0, line.indexOf(' ')));
  }

  private static boolean isOver(RedisServer node) throws Exception {
    String until = (String) node.call("HGET", RECORD, "until");
    return until != null && Long.parseLong(until) < now(node);
  }

  private static long now(RedisServer node) throws Exception {
    List<?> time = (List<?>) node.call("TIME");
    return Long.parseLong((String) time.get(0)) * 1_000
        + Long.parseLong((String) time.get(1)) / 1_000;
  }

  /** Returns the time of the last listing of {@code node} that {@code on} remembers, or null. */
  private static @Nullable String listing(RedisServer on, RedisServer node) throws Exception {
    return (String) on.call("HGET", RECORD, "node " + node.info("server", "run_id"));
  }
}
