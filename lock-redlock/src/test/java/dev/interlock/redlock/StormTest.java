package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import dev.interlock.testbed.server.NoServerException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Storms of faults. No two clients hold the lock at once while nodes are stopped, and restarted
 * empty or with their data, a minority at a time. Tokens rise while nodes are restarted empty one
 * at a time, and keys are deleted at random on single nodes. Exclusion is not kept where keys are
 * deleted, so each grant is compared with those that were made before it was requested. The clocks
 * of the clients are up to twenty minutes apart; in half of the storms those of two nodes are, too.
 */
class StormTest {

  private static final Duration SHORT_STORM = Duration.ofSeconds(2);
  private static final Duration LONG_STORM = Duration.ofSeconds(10);

  /** The limit for a busy machine, on which a storm goes on until it has enough grants to check. */
  private static final Duration MAX_STORM_LENGTH = Duration.ofSeconds(60);

  private static final int MIN_GRANTS = 50;
  private static final Duration TTL = Duration.ofMillis(400);
  private static final Duration TEN_MINUTES = Duration.ofMinutes(10);

  private record Granted(long askedAt, long hadAt, long endedAt, long token) {}

  private final AtomicBoolean over = new AtomicBoolean();
  private final Queue<Granted> history = new ConcurrentLinkedQueue<>();

  @Test
  void tokensNeverRepeatNorGoBack() throws Exception {
    assertTokensRise(5, true, SHORT_STORM);
  }

  @ParameterizedTest
  @CsvSource({"3, true", "5, false"})
  @Tag("extended")
  void tokensRiseInALongStorm(int count, boolean rightClocks) throws Exception {
    assertTokensRise(count, rightClocks, LONG_STORM);
  }

  @Test
  void twoNeverHoldTheLockAtOnce() throws Exception {
    assertExclusion(3, false, SHORT_STORM);
  }

  @ParameterizedTest
  @CsvSource({"3, false", "5, true"})
  @Tag("extended")
  void exclusionHoldsInALongStorm(int count, boolean rightClocks) throws Exception {
    assertExclusion(count, rightClocks, LONG_STORM);
  }

  private void assertTokensRise(int count, boolean rightClocks, Duration length) throws Exception {
    String storm = runStorm(count, rightClocks, true, length);
    assertTokensRise(history, storm);
  }

  private void assertExclusion(int count, boolean rightClocks, Duration length) throws Exception {
    String storm = runStorm(count, rightClocks, false, length);
    assertTokensRise(history, storm);
    Granted before = null;
    for (Granted granted :
        history.stream().sorted(Comparator.comparingLong(Granted::hadAt)).toList()) {
      if (before != null) {
        long overlap = before.endedAt() - granted.hadAt();
        assertTrue(overlap <= 0, () -> "two held the lock for " + overlap + " ns: " + storm);
      }
      before = granted;
    }
  }

  /**
   * Lets clients lock and release while nodes suffer.
   *
   * @param rightClocks whether all nodes have the same time of day; else two are twenty minutes
   *     apart
   * @param deleting whether keys are deleted, too
   * @param length the minimum duration
   */
  private String runStorm(int count, boolean rightClocks, boolean deleting, Duration length)
      throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    int restarts = 0;
    ExecutorService threads = Executors.newCachedThreadPool();
    List<LockBackend> clients = new ArrayList<>();
    try (RedlockNodes redlock = start(count, rightClocks)) {
      List<Future<?>> workers = new ArrayList<>();
      for (int c = 0; c < 4; c++) {
        long minutes = TEN_MINUTES.toMillis();
        long ahead = c == 0 ? minutes : c == 1 ? -minutes : random.nextInt(60_000);
        LockBackend client = open(redlock.uri() + "?maxTtl=1s&nodeTimeout=300ms", ahead(ahead));
        clients.add(client);
        workers.add(threads.submit(() -> work(client)));
      }
      List<RedisServer> nodes = redlock.members();
      long start = System.nanoTime();
      long restartAt = System.nanoTime() + TTL.toNanos();
      while (System.nanoTime() - start < length.toNanos()
          || ((restarts == 0 || history.size() < MIN_GRANTS)
              && System.nanoTime() - start < MAX_STORM_LENGTH.toNanos())) {
        RedisServer node = nodes.get(random.nextInt(count));
        if (System.nanoTime() - restartAt > 0) {
          if (deleting || random.nextBoolean()) {
            node.restartEmpty();
          } else {
            node.kill();
            node.restart();
          }
          restarts++;
          // The next one only when this one votes again: a minority at a time.
          Backends.eventually("the node votes again", () -> votes(node));
          restartAt = System.nanoTime() + random.nextInt(200_000_000);
        } else if (!deleting) {
          node.pause();
          TimeUnit.MILLISECONDS.sleep(random.nextInt(150));
          node.resume();
          TimeUnit.MILLISECONDS.sleep(random.nextInt(100));
        } else {
          deleteSomething(node, random);
          TimeUnit.MICROSECONDS.sleep(random.nextInt(5_000));
        }
      }
      over.set(true);
      for (Future<?> worker : workers) {
        worker.get(60, TimeUnit.SECONDS);
      }
    } finally {
      over.set(true);
      clients.forEach(LockBackend::close);
      threads.shutdownNow();
    }
    String storm = history.size() + " grants, " + restarts + " restarts, seed " + seed;
    System.out.println(count + (rightClocks ? " nodes: " : " nodes, clocks apart: ") + storm);
    assertTrue(restarts > 0 && history.size() >= MIN_GRANTS, storm);
    return storm;
  }

  private static RedlockNodes start(int count, boolean rightClocks) {
    RedlockNodes.Builder nodes = Testbed.redlockNodes().nodes(count).forFaults();
    if (rightClocks) {
      return nodes.start();
    }
    try {
      return nodes.clocksAhead(TEN_MINUTES, TEN_MINUTES.negated()).start();
    } catch (NoServerException e) {
      assumeTrue(Testbed.requiresAll(), e.getMessage());
      throw e;
    }
  }

  /** Opens a backend, again as long as a busy machine takes the nodes for dead. */
  private static LockBackend open(String uri, TimeSource time) throws Exception {
    AtomicReference<LockBackend> opened = new AtomicReference<>();
    Backends.eventually(
        "opened",
        () -> {
          try {
            opened.set(Backends.open(uri, time));
            return true;
          } catch (LockUnavailableException notYet) {
            return false;
          }
        });
    return opened.get();
  }

  private static boolean votes(RedisServer node) throws IOException {
    return node.call("HGET", "interlock:redlock", "base") != null
        && node.call("HGET", "interlock:redlock", "pending") == null;
  }

  private static void deleteSomething(RedisServer node, Random random) throws IOException {
    if (random.nextInt(4) == 0) {
      node.call("DEL", "interlock:{job}:fence");
    } else {
      node.call("DEL", "interlock:{job}");
    }
  }

  /** Holds the lock for a moment, or now and then as long as it is renewed. */
  private void use(LockBackend client, Grant grant, long askedAt, Random random)
      throws InterruptedException {
    long hadAt = System.nanoTime();
    long validUntil = grant.validUntil();
    if (random.nextInt(30) == 0) {
      for (int i = 0; i < 30 && validUntil - System.nanoTime() > 0; i++) {
        TimeUnit.MILLISECONDS.sleep(20);
        if (client.renew(grant, Deadline.in(Backends.TIME, Duration.ofMillis(600)))
            instanceof Renewal.Renewed renewed) {
          // A lease that has ended stays ended, whatever is answered then.
          validUntil = validUntil - System.nanoTime() > 0 ? renewed.validUntil() : validUntil;
        }
      }
    }
    long now = System.nanoTime();
    if (grant.validUntil() - hadAt > 0) {
      long endedAt = validUntil - now < 0 ? validUntil : now;
      history.add(new Granted(askedAt, hadAt, endedAt, grant.token()));
    }
    client.release(grant.claim(), Backends.soon());
  }

  private Void work(LockBackend client) throws InterruptedException {
    Random random = new Random();
    while (!over.get()) {
      Claim claim = Backends.claim("job", TTL);
      long askedAt = System.nanoTime();
      try {
        Attempt attempt =
            client.tryAcquire(claim, Deadline.in(Backends.TIME, Duration.ofMillis(600)));
        if (attempt instanceof Attempt.Granted granted) {
          use(client, granted.grant(), askedAt, random);
        }
      } catch (LockException e) {
        try {
          client.release(claim, Backends.soon());
        } catch (LockException again) {
          TimeUnit.MILLISECONDS.sleep(1); // no majority at the moment
        }
      }
    }
    return null;
  }

  private static void assertTokensRise(Collection<Granted> all, String storm) {
    Set<Long> tokens = new TreeSet<>();
    all.forEach(granted -> tokens.add(granted.token()));
    assertEquals(all.size(), tokens.size(), () -> "tokens repeat: " + storm);

    List<Granted> byEnd = new ArrayList<>(all);
    byEnd.sort(Comparator.comparingLong(Granted::hadAt));
    List<Granted> byStart = new ArrayList<>(all);
    byStart.sort(Comparator.comparingLong(Granted::askedAt));
    long highest = 0;
    int next = 0;
    for (Granted granted : byStart) {
      while (next < byEnd.size() && byEnd.get(next).hadAt() - granted.askedAt() < 0) {
        highest = Math.max(highest, byEnd.get(next++).token());
      }
      long before = highest;
      assertTrue(
          granted.token() > before, () -> granted.token() + " after " + before + ": " + storm);
    }
  }

  private static TimeSource ahead(long millis) {
    return new TimeSource() {
      @Override
      public long nanoTime() {
        return Backends.TIME.nanoTime();
      }

      @Override
      public long wallMillis() {
        return Backends.TIME.wallMillis() + millis;
      }

      @Override
      public void parkUntil(Object blocker, long untilNanos) {
        Backends.TIME.parkUntil(blocker, untilNanos);
      }
    };
  }
}
