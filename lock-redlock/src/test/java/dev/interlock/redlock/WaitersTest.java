package dev.interlock.redlock;

import static dev.interlock.redlock.Backends.claim;
import static dev.interlock.redlock.Backends.eventually;
import static dev.interlock.redlock.Backends.soon;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockBackend;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Waiters send few requests, and are woken when the lock is free. */
class WaitersTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final String LOCK = "interlock:{job}";
  private static final String QUERY = "?nodeTimeout=5s&maxTtl=2m";

  /** The scripts of one waiter on all nodes: twice those of one poll every 100 ms. */
  private static final double MAX_SCRIPTS_PER_SECOND = 100;

  private static final Duration OBSERVED = Duration.ofSeconds(2);
  private static final Pattern CALLS = Pattern.compile("cmdstat_eval(?:sha)?:calls=(\\d+)");

  /** The options of a holder whose lease needs no renewal during the test. */
  private static final LockOptions HOLDER =
      LockOptions.builder()
          .ttl(Duration.ofMinutes(2))
          .requestTimeout(Duration.ofSeconds(20))
          .build();

  private static final LockOptions WAITER =
      LockOptions.builder()
          .pollInterval(Duration.ofHours(1))
          .requestTimeout(Duration.ofSeconds(20))
          .build();

  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void endThreads() {
    threads.shutdownNow();
  }

  /** The failures of nodes while a lock is held. */
  private enum Trouble {
    NONE,
    /** One node lacks the lock. */
    ONE_FREE,
    /** One node is dead, the others have the lock. */
    ONE_DEAD,
    /** One is dead, one has the lock, and one lacks it. */
    ONE_DEAD_ONE_FREE,
    /** Two are dead, and one lacks it: there is no majority. */
    TWO_DEAD_ONE_FREE,
    /** Two attempts that were killed under way have a node each, and one is free. */
    DIVIDED;

    boolean aReleaseFreesTheLock() {
      return this == NONE || this == ONE_FREE || this == ONE_DEAD;
    }
  }

  /** A holder and waiters, on nodes of their own. */
  private final class Scene implements AutoCloseable {
    private final RedlockNodes redlock = Testbed.redlockNodes().nodes(3).forFaults().start();
    private final List<RedisServer> nodes = redlock.members();
    private final List<LockClient> clients = new ArrayList<>();
    private final CompletableFuture<Lease> acquired = new CompletableFuture<>();

    LockClient open(LockOptions options) {
      LockClient client = LockClient.open(redlock.uri() + QUERY, options);
      clients.add(client);
      return client;
    }

    Lease take() throws Exception {
      Lease lease = open(HOLDER).lock("job").tryAcquire().orElseThrow();
      for (RedisServer node : nodes) {
        eventually("held on " + node.name(), () -> node.call("GET", LOCK) != null);
      }
      return lease;
    }

    void startWaiters(int count) throws Exception {
      for (int i = 0; i < count; i++) {
        LockClient client = open(WAITER);
        threads.execute(
            () -> {
              try {
                acquired.complete(client.lock("job").acquire());
              } catch (InterruptedException | RuntimeException e) {
                acquired.completeExceptionally(e);
              }
            });
      }
      for (RedisServer node : nodes) {
        eventually(
            "all wait at " + node.name(),
            () -> node.call("PUBSUB", "NUMSUB", LOCK).toString().contains(", " + count + "]"));
      }
    }

    List<RedisServer> strike(Trouble trouble) throws IOException {
      List<RedisServer> alive =
          switch (trouble) {
            case NONE, ONE_FREE, DIVIDED -> nodes;
            case ONE_DEAD, ONE_DEAD_ONE_FREE -> List.of(nodes.get(0), nodes.get(2));
            case TWO_DEAD_ONE_FREE -> List.of(nodes.get(2));
          };
      nodes.stream().filter(node -> !alive.contains(node)).forEach(RedisServer::kill);
      if (trouble == Trouble.DIVIDED) {
        for (RedisServer node : nodes.subList(0, 2)) {
          node.call("SET", LOCK, claim("job").id() + "|killed", "PX", "120000");
        }
      }
      if (trouble == Trouble.DIVIDED || trouble.name().endsWith("ONE_FREE")) {
        nodes.get(2).call("DEL", LOCK);
      }
      return alive;
    }

    @Override
    public void close() {
      clients.forEach(LockClient::close);
      redlock.close();
    }
  }

  private static long scripts(List<RedisServer> alive) throws IOException {
    long calls = 0;
    for (RedisServer node : alive) {
      Matcher matcher = CALLS.matcher(node.call("INFO", "commandstats").toString());
      while (matcher.find()) {
        calls += Long.parseLong(matcher.group(1));
      }
    }
    return calls;
  }

  private Void watch(Trouble trouble, int waiters) throws Exception {
    try (Scene scene = new Scene()) {
      Lease lease = scene.take();
      scene.startWaiters(waiters);
      List<RedisServer> alive = scene.strike(trouble);
      scene.nodes.get(2).call("PUBLISH", LOCK, ""); // all look once

      long before = scripts(alive);
      long start = System.nanoTime();
      TimeUnit.NANOSECONDS.sleep(OBSERVED.toNanos());
      long during = scripts(alive) - before;
      double perSecond = during * 1e9 / (System.nanoTime() - start);
      System.out.printf("%s, %d waiting: %.0f scripts/s%n", trouble, waiters, perSecond);
      assertTrue(
          perSecond <= MAX_SCRIPTS_PER_SECOND * waiters,
          () -> trouble + ", " + waiters + " waiting: " + perSecond + " scripts/s");

      if (trouble.aReleaseFreesTheLock()) {
        lease.release();
        // Well before the holder's TTL, or their own time, lets them look again.
        scene.acquired.get(60, TimeUnit.SECONDS).release();
      }
    }
    return null;
  }

  @Test
  void waitersAreWokenByAReleaseAndNotByEachOther() {
    watchAll(3);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 5})
  @Tag("extended")
  void soIsOneWaiterAndSoAreMany(int waiters) {
    watchAll(waiters);
  }

  private void watchAll(int waiters) {
    List<Future<Void>> watched = new ArrayList<>();
    for (Trouble trouble : Trouble.values()) {
      watched.add(threads.submit(() -> watch(trouble, waiters)));
    }
    assertAll(watched.stream().map(each -> () -> each.get(3, TimeUnit.MINUTES)));
  }

  /** Other clients may have seen the attempt as the holder, and wait for its end. */
  @Test
  void waitersAreWokenWhenAnAttemptInDoubtIsUndone() throws Exception {
    try (Scene scene = new Scene();
        LockBackend other = Backends.open(scene.redlock.uri() + QUERY)) {
      Claim inDoubt = claim("job", Duration.ofMinutes(2));
      Entry entry = Entry.fresh(inDoubt, 3);
      for (int node = 0; node < 2; node++) {
        entry.markSent(node, "run"); // and the replies are lost
        String value = inDoubt.id() + '|' + inDoubt.label();
        scene.nodes.get(node).call("SET", LOCK, value, "PX", "120000");
      }
      scene.startWaiters(1);
      assertTrue(other.release(inDoubt, soon()));
      scene.acquired.get(60, TimeUnit.SECONDS).release();
    }
  }

  @Test
  void onlyGrantsOfAMinorityAreWithdrawnInSilence() {
    Entry entry = Entry.fresh(claim("job"), 3);
    Vote.Granted grant = new Vote.Granted(7, 5);
    entry.recordGrant(0, grant);
    assertTrue(grant.equals(entry.grantToWithdraw(0)) && entry.grantToWithdraw(1) == null);
    entry.markSent(0, "run");
    assertTrue(grant.equals(entry.grantToWithdraw(0)));
    Entry askedTwice = Entry.fresh(claim("job"), 3);
    askedTwice.markSent(0, "run");
    askedTwice.markSent(0, "run");
    askedTwice.recordGrant(0, grant);
    assertNull(askedTwice.grantToWithdraw(0));
    entry.recordGrant(1, grant);
    assertTrue(Stream.of(0, 1, 2).allMatch(node -> entry.grantToWithdraw(node) == null));
  }
}
