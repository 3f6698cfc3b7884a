package dev.interlock.zookeeper;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Acquirable;
import dev.interlock.DistributedReadWriteLock;
import dev.interlock.DistributedSemaphore;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException.NoNodeException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/**
 * Read-write locks and semaphores as programs use them. The clients poll only every ten minutes, so
 * all waiters are served by events.
 */
class SharedLocksTest {

  private static final Duration TTL = Duration.ofSeconds(60);

  @AutoClose private static ZooKeeperEnsemble server;
  @AutoClose private static CuratorFramework observer;

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private LockClient ann;
  private LockClient bob;

  @BeforeAll
  static void start() {
    server = Backends.server();
    observer = Backends.curator(server.connectString());
  }

  @BeforeEach
  void open() {
    ann = Backends.client(server);
    bob = Backends.client(server);
  }

  @AfterEach
  void close() {
    threads.shutdownNow();
    ann.close();
    bob.close();
  }

  private static int nodesOf(String name) throws Exception {
    try {
      return observer.getChildren().forPath("/interlock/" + name).size();
    } catch (NoNodeException e) {
      return 0;
    }
  }

  @Test
  void readersOfSeveralClientsShareALockAndAWriterFollowsThem() throws Exception {
    DistributedReadWriteLock anns = ann.readWriteLock("documents");
    DistributedReadWriteLock bobs = bob.readWriteLock("documents");
    Lease first = anns.readLock().acquire();
    Lease second = bobs.readLock().acquire();
    assertTrue(bobs.writeLock().tryAcquire().isEmpty());
    CompletableFuture<Lease> leaves = bobs.writeLock().acquireAsync();
    Eventually.holds("it waits", () -> ann.admin().inspect("documents").waiters().size() == 1);
    assertTrue(leaves.cancel(true));
    Eventually.holds("it has left", () -> ann.admin().inspect("documents").waiters().isEmpty());
    CompletableFuture<Lease> writer = bobs.writeLock().acquireAsync();
    Eventually.holds("it waits", () -> ann.admin().inspect("documents").waiters().size() == 1);
    assertTrue(anns.readLock().tryAcquire().isEmpty());
    first.release();
    second.release();
    Lease written = writer.get(60, SECONDS);
    assertTrue(written.fencingToken() > second.fencingToken());
    CompletableFuture<Lease> reader = anns.readLock().acquireAsync();
    Eventually.holds("it waits", () -> ann.admin().inspect("documents").waiters().size() == 1);
    written.release();
    reader.get(60, SECONDS).release();
    assertEquals(0, nodesOf("documents"));
  }

  @Test
  void permitsAreReleasedOneLeaseAtATime() throws Exception {
    DistributedSemaphore anns = ann.semaphore("slots", 3);
    DistributedSemaphore bobs = bob.semaphore("slots", 3);
    Lease two = anns.permits(2).acquire();
    Lease one = bobs.acquire();
    assertTrue(anns.tryAcquire().isEmpty());
    CompletableFuture<Lease> waiting = bobs.permits(2).acquireAsync();
    Eventually.holds("it waits", () -> ann.admin().inspect("slots").waiters().size() == 1);
    one.release();
    assertTrue(anns.tryAcquire().isEmpty());
    two.release();
    Lease served = waiting.get(60, SECONDS);
    Lease last = anns.acquire();
    served.release();
    last.release();
    assertEquals(0, nodesOf("slots"));
  }

  @Test
  void aNameOfAnotherKindOrLimitIsRefusedUntilItIsFree() throws Exception {
    try (Lease lease = ann.semaphore("mixed", 2).acquire()) {
      assertTrue(lease.isHeld());
      assertRefused("a semaphore of 2 permits", () -> bob.lock("mixed").acquire());
      assertRefused("a semaphore of 2 permits", () -> bob.lock("mixed").tryAcquire());
      assertRefused("a semaphore of 2 permits", () -> bob.semaphore("mixed", 3).acquire());
      assertRefused(
          "a semaphore of 2 permits", () -> bob.readWriteLock("mixed").readLock().tryAcquire(TTL));
      assertEquals(1, nodesOf("mixed"));
    }
    try (Lease lease = bob.lock("mixed").acquire()) {
      assertTrue(lease.isHeld());
      assertRefused("an exclusive lock", () -> ann.semaphore("mixed", 2).tryAcquire());
      assertRefused("an exclusive lock", () -> ann.readWriteLock("mixed").writeLock().acquire());
      assertEquals(1, nodesOf("mixed"));
    }
  }

  private static void assertRefused(String use, Executable call) {
    LockConfigurationException refusal = assertThrows(LockConfigurationException.class, call);
    assertTrue(refusal.getMessage().contains("in use as " + use), refusal::getMessage);
  }

  @Test
  void allSharedLeasesAreLostWithTheirSession() throws Exception {
    try (CuratorFramework curator = Backends.curator(server.connectString());
        LockClient cid = ZooKeeperLocks.using(curator, Backends.SETTINGS, Backends.OPTIONS)) {
      List<Lease> leases = new ArrayList<>();
      leases.add(cid.readWriteLock("lost").readLock().acquire());
      leases.add(cid.readWriteLock("lost-written").writeLock().acquire());
      leases.add(cid.semaphore("lost-slots", 3).acquire());
      leases.add(cid.semaphore("lost-slots", 3).permits(2).acquire());
      CompletableFuture<Lease> waiting = bob.semaphore("lost-slots", 3).permits(3).acquireAsync();
      Eventually.holds("it waits", () -> ann.admin().inspect("lost-slots").waiters().size() == 1);
      Backends.expire(curator, server.connectString());
      for (Lease lease : leases) {
        LeaseLostException loss = lease.onLoss().get(60, SECONDS);
        assertEquals(LossReason.SESSION_ENDED, loss.reason());
        assertFalse(lease.isHeld());
      }
      waiting.get(60, SECONDS).release();
    }
  }

  /** CURATOR-982: an interrupted waiter leaves no permit taken, and no other waiter stuck. */
  @Test
  void anInterruptedWaiterLeavesNoNodeAndTheOthersAreServed() throws Exception {
    Lease lease = ann.semaphore("interrupted", 2).permits(2).acquire();
    Future<?> first =
        threads.submit(() -> bob.semaphore("interrupted", 2).permits(2).acquire().release());
    Eventually.holds("it waits", () -> ann.admin().inspect("interrupted").waiters().size() == 1);
    try (LockClient cid = Backends.client(server)) {
      CompletableFuture<Lease> second = cid.semaphore("interrupted", 2).acquireAsync();
      Eventually.holds("it waits", () -> ann.admin().inspect("interrupted").waiters().size() == 2);
      assertTrue(first.cancel(true));
      Eventually.holds(
          "it has left", () -> ann.admin().inspect("interrupted").waiters().size() == 1);
      lease.release();
      second.get(60, SECONDS).release();
    }
    Eventually.holds("nothing is left", () -> nodesOf("interrupted") == 0);
  }

  /** Two readers in one session watch the same writer. */
  @Test
  void readersOfClientsThatShareASessionAreServedTogether() throws Exception {
    try (CuratorFramework curator = Backends.curator(server.connectString());
        LockClient cid = ZooKeeperLocks.using(curator, Backends.SETTINGS, Backends.OPTIONS);
        LockClient dan = ZooKeeperLocks.using(curator, Backends.SETTINGS, Backends.OPTIONS)) {
      Lease writer = ann.readWriteLock("session").writeLock().acquire();
      CompletableFuture<Lease> cids = cid.readWriteLock("session").readLock().acquireAsync();
      CompletableFuture<Lease> leaves = dan.readWriteLock("session").readLock().acquireAsync();
      Eventually.holds("both wait", () -> ann.admin().inspect("session").waiters().size() == 2);
      assertTrue(leaves.cancel(true));
      Eventually.holds("one waits", () -> ann.admin().inspect("session").waiters().size() == 1);
      CompletableFuture<Lease> dans = dan.readWriteLock("session").readLock().acquireAsync();
      Eventually.holds("both wait", () -> ann.admin().inspect("session").waiters().size() == 2);
      writer.release();
      cids.get(60, SECONDS).release();
      dans.get(60, SECONDS).release();
    }
  }

  @Test
  void manyClientsKeepTheLimitsAndNoneStarves() throws Exception {
    AtomicInteger readers = new AtomicInteger();
    AtomicInteger writers = new AtomicInteger();
    AtomicInteger taken = new AtomicInteger();
    List<LockClient> clients = new ArrayList<>();
    List<Future<?>> users = new ArrayList<>();
    try {
      for (int i = 0; i < 6; i++) {
        LockClient client = Backends.client(server);
        clients.add(client);
        for (int thread = 0; thread < 2; thread++) {
          Random random = new Random(2L * i + thread);
          users.add(
              threads.submit(
                  () -> {
                    for (int round = 0; round < 20; round++) {
                      useReadWriteLock(client, random, readers, writers);
                      useSemaphore(client, random, taken);
                    }
                    return null;
                  }));
        }
      }
      for (Future<?> user : users) {
        user.get(120, SECONDS);
      }
    } finally {
      clients.forEach(LockClient::close);
    }
    assertEquals(0, nodesOf("crowd"));
    assertEquals(0, nodesOf("crowd-slots"));
  }

  private static void useReadWriteLock(
      LockClient client, Random random, AtomicInteger readers, AtomicInteger writers)
      throws InterruptedException {
    boolean writes = random.nextInt(4) == 0;
    DistributedReadWriteLock lock = client.readWriteLock("crowd");
    Optional<Lease> lease = acquire(writes ? lock.writeLock() : lock.readLock(), random);
    if (lease.isEmpty()) {
      return;
    }
    AtomicInteger sameKind = writes ? writers : readers;
    sameKind.incrementAndGet();
    int others = writers.get() + (writes ? readers.get() : 0);
    assertEquals(writes ? 1 : 0, others);
    sameKind.decrementAndGet();
    lease.get().release();
  }

  private static void useSemaphore(LockClient client, Random random, AtomicInteger taken)
      throws InterruptedException {
    int permits = 1 + random.nextInt(4);
    Optional<Lease> lease = acquire(client.semaphore("crowd-slots", 4).permits(permits), random);
    if (lease.isEmpty()) {
      return;
    }
    int now = taken.addAndGet(permits);
    assertTrue(now <= 4, () -> now + " permits are taken");
    taken.addAndGet(-permits);
    lease.get().release();
  }

  /** Some time out in the middle of the queue. The others are served in the end. */
  private static Optional<Lease> acquire(Acquirable<Lease> lock, Random random)
      throws InterruptedException {
    if (random.nextInt(5) > 0) {
      Optional<Lease> lease = lock.tryAcquire(TTL);
      assertTrue(lease.isPresent(), "nobody holds it for so long: an event was missed");
      return lease;
    }
    try {
      return lock.tryAcquire(Duration.ofMillis(random.nextInt(20)));
    } catch (LockUnavailableException e) {
      return Optional.empty(); // no answer in such a short time
    }
  }
}
