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

  private static final Duration OFTEN = Duration.ofMillis(10);

  private final String uri = "memory:" + UUID.randomUUID();
  private final AtomicInteger leading = new AtomicInteger();

  private LockClient client(String label) {
    return LockClient.open(uri, LockOptions.builder().pollInterval(OFTEN).label(label).build());
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
    BlockingQueue<Optional<Leader>> told = new LinkedBlockingQueue<>();
    List<LockClient> clients = new ArrayList<>();
    List<Candidacy> candidacies = new ArrayList<>();
    try (LockClient observer = client("observer");
        Registration registration = observer.election("a").observe(told::add)) {
      assertEquals(Optional.empty(), next(told));
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
        Leader leader = nextPresent(told);
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
      assertEquals(Optional.empty(), next(told));
      assertEquals(0, leading.get());
    } finally {
      clients.forEach(LockClient::close);
    }
  }

  @Test
  void aLeaderThatIsDeposedStopsBeforeAnotherLeads() throws Exception {
    LockOptions brief =
        LockOptions.builder().ttl(Duration.ofSeconds(2)).pollInterval(OFTEN).build();
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
    long giveUpAt = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!condition.holds()) {
      assertTrue(System.nanoTime() - giveUpAt < 0, "waited in vain");
      TimeUnit.MILLISECONDS.sleep(2);
    }
  }

  private static Optional<Leader> next(BlockingQueue<Optional<Leader>> told)
      throws InterruptedException {
    Optional<Leader> next = told.poll(30, TimeUnit.SECONDS);
    assertTrue(next != null, "no call came");
    return next;
  }

  /** Without what may be seen in between. */
  private static Leader nextPresent(BlockingQueue<Optional<Leader>> told)
      throws InterruptedException {
    Optional<Leader> next = next(told);
    while (next.isEmpty()) {
      next = next(told);
    }
    return next.get();
  }
}
