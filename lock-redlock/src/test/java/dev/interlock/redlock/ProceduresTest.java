package dev.interlock.redlock;

import static dev.interlock.redlock.Backends.claim;
import static dev.interlock.redlock.Backends.eventually;
import static dev.interlock.redlock.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.spi.LockBackend;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The procedures of docs/operating.md, step by step, while locks are held and taken. */
@Tag("extended")
class ProceduresTest {

  private static final Duration TTL = Duration.ofSeconds(6);
  private static final String QUERY = "?maxTtl=6s&nodeTimeout=5s";
  private static final String LOCK = "interlock:{job}";
  private static final String RECORD = "interlock:redlock";
  private static final LockOptions OPTIONS =
      LockOptions.builder().ttl(TTL).requestTimeout(Duration.ofSeconds(20)).build();

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final AtomicBoolean over = new AtomicBoolean();
  private final AtomicInteger holders = new AtomicInteger();
  private final List<Future<Long>> takers = new ArrayList<>();

  /** Written by the holder. */
  private volatile long highest;

  @AfterEach
  void end() {
    over.set(true);
    threads.shutdownNow();
  }

  private static LockClient open(List<RedisServer> nodes) {
    return LockClient.open(uri(nodes), OPTIONS);
  }

  private static String uri(List<RedisServer> nodes) {
    return nodes.stream()
        .map(node -> "127.0.0.1:" + node.port())
        .collect(Collectors.joining(",", "redlock://", QUERY));
  }

  /** Takes and releases a lock until the end, and checks that no other thread has it. */
  private void startTaker(LockClient client) {
    takers.add(
        threads.submit(
            () -> {
              long taken = 0;
              while (!over.get()) {
                try (Lease lease = client.lock("other").acquire()) {
                  assertEquals(1, holders.incrementAndGet(), "two hold the lock");
                  assertTrue(lease.fencingToken() > highest, "tokens go back");
                  highest = lease.fencingToken();
                  holders.decrementAndGet();
                }
                taken++;
                TimeUnit.MILLISECONDS.sleep(5);
              }
              return taken;
            }));
  }

  private void endTakers() throws Exception {
    over.set(true);
    for (Future<Long> taker : takers) {
      assertTrue(taker.get(60, TimeUnit.SECONDS) > 0);
    }
  }

  private static void awaitVote(RedisServer node) throws Exception {
    eventually(
        node.name() + " votes",
        () ->
            node.info("server", "run_id").equals(node.call("HGET", RECORD, "run"))
                && node.call("HGET", RECORD, "pending") == null);
  }

  @Test
  void aNodeIsReplaced() throws Exception {
    try (RedlockNodes redlock = Testbed.redlockNodes().nodes(4).forFaults().start()) {
      List<RedisServer> all = redlock.members();
      List<RedisServer> former = all.subList(0, 3);
      List<RedisServer> present = List.of(all.get(0), all.get(1), all.get(3));
      all.get(3).kill(); // it is not started before the one that it replaces is stopped
      try (LockClient before = open(former)) {
        Lease lease = before.lock("job").tryAcquire().orElseThrow();
        startTaker(before);
        all.get(2).kill();
        all.get(3).restart();
        try (LockClient after = open(present)) {
          startTaker(after);
          assertTrue(after.lock("job").tryAcquire().isEmpty());
          Lease kept = after.lock("kept").tryAcquire().orElseThrow();
          awaitVote(all.get(3));
          eventually(
              "what a new client holds is put there",
              () -> all.get(3).call("GET", "interlock:{kept}") != null);
          assertTrue(lease.isHeld());
          endTakers();
          lease.release();
          all.get(0).kill(); // what is left is a majority of the present ones
          kept.renew();
          after.lock("job").acquire().release();
        }
      }
    }
  }

  @Test
  void nodesAreRestartedOneByOne() throws Exception {
    try (RedlockNodes redlock = Testbed.redlockNodes().nodes(3).forFaults().start();
        LockClient client = open(redlock.members());
        LockClient waiting = open(redlock.members())) {
      Lease lease = client.lock("job").tryAcquire().orElseThrow();
      Future<Lease> waiter = threads.submit(() -> waiting.lock("job").acquire());
      startTaker(client);
      startTaker(waiting);
      for (RedisServer node : redlock.members()) {
        node.restartEmpty();
        awaitVote(node);
        eventually("the lock is restored there", () -> node.call("GET", LOCK) != null);
      }
      assertTrue(lease.isHeld());
      assertFalse(waiter.isDone());
      lease.release();
      waiter.get(60, TimeUnit.SECONDS).release();
      endTakers();
    }
  }

  @Test
  void theNumberOfNodesIsChanged() throws Exception {
    try (RedlockNodes redlock = Testbed.redlockNodes().nodes(5).forFaults().start()) {
      List<RedisServer> five = redlock.members();
      List<RedisServer> three = five.subList(0, 3);
      long before;
      try (LockBackend killed = Backends.open(uri(three))) {
        before = take(killed, claim("job", TTL)).token(); // and not released
      }
      changeNumber(three, three, 5);
      long token;
      try (LockClient client = open(five)) {
        assertThrows(LockConfigurationException.class, () -> open(three).close());
        token = client.lock("job").acquire().fencingToken();
        assertTrue(token > before);
        awaitVote(five.get(3));
        awaitVote(five.get(4));
      }
      five.get(0).kill();
      five.get(1).kill();
      try (LockClient client = open(five);
          Lease lease = client.lock("job").acquire()) {
        assertTrue(lease.fencingToken() > token);
        token = lease.fencingToken();
      }
      five.get(0).restartEmpty();
      five.get(1).restartEmpty();
      try (LockClient client = open(five)) {
        awaitVote(five.get(0));
        awaitVote(five.get(1));
        token = client.lock("job").acquire().fencingToken();
      }
      changeNumber(five, three, 3);
      try (LockClient client = open(three);
          Lease lease = client.lock("job").acquire()) {
        assertTrue(lease.fencingToken() > token);
      }
    }
  }

  private static void changeNumber(List<RedisServer> from, List<RedisServer> kept, int number)
      throws IOException, InterruptedException {
    TimeUnit.NANOSECONDS.sleep(TTL.toNanos());
    long floor = 0;
    for (RedisServer node : from) {
      floor = Math.max(floor, Long.parseLong((String) node.call("HGET", RECORD, "floor")));
    }
    for (RedisServer node : kept) {
      String highest = Long.toString(floor);
      node.call("HSET", RECORD, "nodes", "" + number, "floor", highest, "base", highest);
    }
  }
}
