package dev.interlock.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LeaderElection.Candidacy;
import dev.interlock.LeaderElection.Leader;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.Registration;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** An election among clients whose store has a queue, on the real clock. */
class ElectionTest {

  private static final Duration SHORT_POLL_INTERVAL = Duration.ofMillis(10);

  private final String uri = "memory:" + UUID.randomUUID();
  private final AtomicInteger leading = new AtomicInteger();

  private LockClient client(String label) {
    return LockClient.open(
        uri, LockOptions.builder().pollInterval(SHORT_POLL_INTERVAL).label(label).build());
  }

  private void lead() throws InterruptedException {
    assertEquals(1, leading.incrementAndGet());
    try {
      new CountDownLatch(1).await();
    } finally {
      leading.decrementAndGet();
    }
  }

  @Test
  void candidatesLeadInTheOrderOfTheirCampaignsAndAnObserverSeesEach() throws Exception {
    BlockingQueue<Optional<Leader>> observed = new LinkedBlockingQueue<>();
    List<LockClient> clients = new ArrayList<>();
    List<Candidacy> candidacies = new ArrayList<>();
    try (LockClient observer = client("observer");
        Registration registration = observer.election("a").observe(observed::add)) {
      assertEquals(Optional.empty(), next(observed));
      for (int i = 0; i < 3; i++) {
        LockClient client = client("candidate " + i);
        clients.add(client);
        candidacies.add(client.election("a").start(leadership -> lead()));
        int inQueue = i;
        until(() -> observer.admin().inspect("a").isHeld());
        until(() -> observer.admin().inspect("a").waiters().size() == inQueue);
      }
      long last = 0;
      for (int i = 0; i < 3; i++) {
        Leader leader = nextPresent(observed);
        assertEquals(Optional.of("candidate " + i), leader.label());
        assertTrue(leader.fencingToken().orElseThrow() > last);
        last = leader.fencingToken().orElseThrow();
        Candidacy candidacy = candidacies.get(i);
        until(candidacy::isLeader);
        if (i == 1) {
          clients.get(i).close();
        } else {
          candidacy.close();
        }
        assertFalse(candidacy.isLeader());
      }
      assertEquals(Optional.empty(), next(observed));
      assertEquals(0, leading.get());
    } finally {
      clients.forEach(LockClient::close);
    }
  }

  @Test
  void aRevokedLeaderStopsBeforeAnotherLeads() throws Exception {
    LockOptions brief =
        LockOptions.builder().ttl(Duration.ofSeconds(2)).pollInterval(SHORT_POLL_INTERVAL).build();
    try (LockClient first = LockClient.open(uri, brief);
        LockClient second = LockClient.open(uri, brief);
        Candidacy deposed = first.election("a").start(leadership -> lead())) {
      until(deposed::isLeader);
      try (Candidacy other = second.election("a").start(leadership -> lead())) {
        until(() -> !first.admin().inspect("a").waiters().isEmpty());
        assertTrue(second.admin().revoke("a"));
        until(other::isLeader);
        assertFalse(deposed.isLeader());
        until(() -> !second.admin().inspect("a").waiters().isEmpty());
      }
      until(deposed::isLeader);
    }
    assertEquals(0, leading.get());
  }

  private interface Condition {
    boolean holds();
  }

  private static void until(Condition condition) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!condition.holds()) {
      assertTrue(System.nanoTime() - deadline < 0, "the condition was not met in 30 s");
      TimeUnit.MILLISECONDS.sleep(2);
    }
  }

  private static Optional<Leader> next(BlockingQueue<Optional<Leader>> observed)
      throws InterruptedException {
    Optional<Leader> next = observed.poll(30, TimeUnit.SECONDS);
    assertTrue(next != null, "the observer was not called");
    return next;
  }

  /** Returns the next leader; skips times without one. */
  private static Leader nextPresent(BlockingQueue<Optional<Leader>> observed)
      throws InterruptedException {
    Optional<Leader> next = next(observed);
    while (next.isEmpty()) {
      next = next(observed);
    }
    return next.get();
  }
}
