package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.LONG_TIMEOUT;
import static dev.interlock.etcd.Backends.claim;
import static dev.interlock.etcd.Backends.in;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockKind;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.Share;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.LeaseOption;
import io.etcd.jetcd.options.PutOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Readers, writers and permits of whole clients: their costs, and their states as operators see
 * them.
 */
class EtcdSharedLocksTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  /**
   * With this poll interval, a waiter that depends on polling fails the test; with this TTL, no
   * lease is renewed while a test counts requests.
   */
  private static final LockOptions OPTIONS =
      LONG_TIMEOUT.toBuilder()
          .pollInterval(Duration.ofMinutes(10))
          .ttl(Duration.ofMinutes(10))
          .build();

  private static final LockOptions SHORT_TTL =
      OPTIONS.toBuilder().ttl(Duration.ofSeconds(8)).build();

  @AutoClose private static EtcdCluster etcd;
  private static EtcdServer server;
  @AutoClose private static Client own;

  @BeforeAll
  static void startServer() {
    etcd = Testbed.etcd().forFaults().withoutSync().start();
    server = etcd.leader();
    own = Client.builder().endpoints("http://127.0.0.1:" + server.port()).build();
  }

  private static List<LockClient> clients(int count) {
    List<LockClient> clients = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      clients.add(LockClient.open(etcd.uri(), OPTIONS));
    }
    return clients;
  }

  private static Lease soon(CompletableFuture<Lease> lease) throws Exception {
    return lease.get(60, TimeUnit.SECONDS);
  }

  private static void awaitWaiters(LockClient client, String name, int count) throws Exception {
    Eventually.holds(count + " wait", () -> client.admin().inspect(name).waiters().size() == count);
  }

  private static List<KeyValue> queue(String name) throws Exception {
    return own.getKVClient()
        .get(LockKeys.of("interlock", name).prefix(), QueueOps.all())
        .get()
        .getKvs();
  }

  // --- requests -------------------------------------------------------------------------------

  /** Waits until no more requests come: waiters read the queue again while their watch is new. */
  private static void awaitSilence() throws Exception {
    long[] last = {-1, 0};
    Eventually.holds(
        "nobody asks",
        () -> {
          long requests = Backends.requests(server);
          last[1] = requests == last[0] ? last[1] + 1 : 0;
          last[0] = requests;
          return last[1] == 80; // readings instead of a time, because this JVM may stall
        });
  }

  private static final int WAITERS = 25;

  /** The requests are the release, and the read of the next waiter. */
  @Test
  void aReleasedPermitWakesOneOfManyWaiters() throws Exception {
    List<LockClient> clients = clients(WAITERS);
    try {
      LockClient first = clients.get(0);
      Lease heldLease = first.semaphore("one of many", 2).acquire();
      Lease other = first.semaphore("one of many", 2).acquire();
      List<CompletableFuture<Lease>> waiting = new ArrayList<>();
      for (LockClient client : clients.subList(1, WAITERS)) {
        waiting.add(client.semaphore("one of many", 2).acquireAsync());
        awaitWaiters(first, "one of many", waiting.size());
      }
      awaitSilence();
      long before = Backends.requests(server);
      heldLease.release();
      Lease next = soon(waiting.get(0));
      awaitSilence();
      assertEquals(2, Backends.requests(server) - before);
      assertFalse(waiting.get(1).isDone());

      // A waiter that leaves the middle of the queue causes no request of the others.
      before = Backends.requests(server);
      waiting.get(5).cancel(true);
      awaitSilence();
      assertEquals(1, Backends.requests(server) - before);
      next.release();
      other.release();
      for (CompletableFuture<Lease> lease : waiting) {
        if (!lease.isCancelled()) {
          soon(lease).release();
        }
      }
    } finally {
      clients.forEach(LockClient::close);
    }
  }

  @Test
  void aWriterThatLeavesTheQueueWakesNoneOfTheReadersThatStillWait() throws Exception {
    List<LockClient> clients = clients(WAITERS);
    try {
      LockClient first = clients.get(0);
      Lease heldLease = first.readWriteLock("many readers").writeLock().acquire();
      CompletableFuture<Lease> leaving =
          clients.get(1).readWriteLock("many readers").writeLock().acquireAsync();
      awaitWaiters(first, "many readers", 1);
      List<CompletableFuture<Lease>> waiting = new ArrayList<>();
      for (LockClient client : clients.subList(2, WAITERS)) {
        waiting.add(client.readWriteLock("many readers").readLock().acquireAsync());
      }
      awaitWaiters(first, "many readers", 1 + waiting.size());
      awaitSilence();
      long before = Backends.requests(server);
      leaving.cancel(true);
      awaitSilence();
      assertEquals(1, Backends.requests(server) - before);

      heldLease.release();
      List<Lease> readers = new ArrayList<>();
      for (CompletableFuture<Lease> lease : waiting) {
        readers.add(soon(lease));
      }
      awaitSilence();
      assertEquals(2 + readers.size(), Backends.requests(server) - before);
      readers.forEach(Lease::release);
    } finally {
      clients.forEach(LockClient::close);
    }
  }

  @Test
  void readersWritersAndPermitsCostAsManyRequestsAsAnExclusiveLock() throws Exception {
    try (LockClient client = LockClient.open(etcd.uri(), OPTIONS)) {
      List<Acquirable<Lease>> all =
          List.of(
              client.lock("cost"),
              client.readWriteLock("cost").readLock(),
              client.readWriteLock("cost").writeLock(),
              client.semaphore("cost", 3),
              client.semaphore("cost", 3).permits(3));
      client.lock("warm").acquire().release();
      for (Acquirable<Lease> one : all) {
        long before = Backends.requests(server);
        one.acquire().release();
        assertEquals(2, Backends.requests(server) - before);
        before = Backends.requests(server);
        one.tryAcquire().orElseThrow().release();
        assertEquals(3, Backends.requests(server) - before);
      }
    }
  }

  // --- operators ------------------------------------------------------------------------------

  @Test
  void allHoldersAreShownInTheOrderOfTheirGrants() throws Exception {
    List<LockClient> clients = clients(4);
    try {
      List<Lease> leases = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        String label = "holder " + i;
        int permits = i + 1;
        leases.add(
            clients
                .get(i)
                .semaphore("shown/permits", 6, options -> options.label(label))
                .permits(permits)
                .acquire());
      }
      CompletableFuture<Lease> waiting =
          clients
              .get(3)
              .semaphore("shown/permits", 6, options -> options.label("waiter"))
              .acquireAsync();
      Lease reader = clients.get(0).readWriteLock("shown/read").readLock().acquire();
      Lease writer = clients.get(1).readWriteLock("shown/write").writeLock().acquire();
      awaitWaiters(clients.get(0), "shown/permits", 1);

      LockState state = clients.get(0).admin().inspect("shown/permits");
      assertEquals(Optional.of(LockKind.SEMAPHORE), state.kind());
      assertEquals(OptionalInt.of(6), state.limit());
      assertEquals(List.of("waiter"), state.waiters());
      assertEquals(3, state.holders().size());
      for (int i = 0; i < 3; i++) {
        LockState.Holder holder = state.holders().get(i);
        assertEquals(Optional.of("holder " + i), holder.label());
        assertEquals(OptionalInt.of(i + 1), holder.permits());
        assertEquals(OptionalLong.of(leases.get(i).fencingToken()), holder.fencingToken());
        Duration remaining = holder.remaining().orElseThrow();
        assertTrue(remaining.compareTo(OPTIONS.ttl()) <= 0, remaining::toString);
        assertTrue(remaining.compareTo(OPTIONS.ttl().dividedBy(2)) > 0, remaining::toString);
      }
      LockState read = clients.get(0).admin().inspect("shown/read");
      assertEquals(Optional.of(LockKind.READ_WRITE), read.kind());
      assertEquals(OptionalLong.of(reader.fencingToken()), read.fencingToken());
      assertEquals(OptionalLong.of(writer.fencingToken()), token(clients.get(0), "shown/write"));
      try (EtcdBackend backend = Backends.open(etcd.uri(), OPTIONS)) {
        LockPage page = backend.list("shown/", null, 100, in(Eventually.LIMIT));
        assertEquals(
            List.of(3, 1, 1),
            page.locks().stream()
                .sorted((a, b) -> a.name().compareTo(b.name()))
                .map(lock -> lock.holders().size())
                .toList());
      }
      leases.forEach(Lease::release);
      soon(waiting).release();
    } finally {
      clients.forEach(LockClient::close);
    }
  }

  private static OptionalLong token(LockClient client, String name) {
    return client.admin().inspect(name).fencingToken();
  }

  @Test
  void aForcedReleaseTakesTheLockFromAllHolders() throws Exception {
    try (LockClient one = LockClient.open(etcd.uri(), OPTIONS);
        LockClient two = LockClient.open(etcd.uri(), OPTIONS)) {
      for (boolean autoRenew : List.of(true, false)) {
        Lease first =
            one.readWriteLock("forced", options -> options.autoRenew(autoRenew))
                .readLock()
                .acquire();
        Lease second = two.readWriteLock("forced").readLock().acquire();
        CompletableFuture<Lease> writer = one.readWriteLock("forced").writeLock().acquireAsync();
        awaitWaiters(two, "forced", 1);
        assertTrue(two.admin().forceRelease("forced"));
        Lease written = soon(writer);
        assertTrue(written.fencingToken() > second.fencingToken());
        for (Lease lease : List.of(first, second)) {
          assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
        }
        assertEquals(ReleaseOutcome.RELEASED, written.release());
        assertFalse(two.admin().forceRelease("forced"));
      }
    }
  }

  @Test
  void aRevocationTakesTheLockFromAllHoldersAndExcludesOthersUntilTheirValidityEnds()
      throws Exception {
    try (LockClient one = LockClient.open(etcd.uri(), SHORT_TTL);
        LockClient two = LockClient.open(etcd.uri(), OPTIONS);
        LockClient operator = LockClient.open(etcd.uri(), OPTIONS)) {
      Lease first = one.semaphore("revoked", 3).acquire();
      Lease second = two.semaphore("revoked", 3).permits(2).acquire();
      assertTrue(operator.admin().revoke("revoked"));
      List<KeyValue> queue = queue("revoked");
      for (int i = 0; i < 2; i++) {
        long seconds =
            own.getLeaseClient()
                .timeToLive(queue.get(i).getLease(), LeaseOption.DEFAULT)
                .get()
                .getGrantedTTL();
        Lease lease = i == 0 ? first : second;
        assertTrue(seconds >= lease.effectiveTtl().toSeconds(), seconds + " s");
        assertThrows(LeaseLostException.class, lease::renew);
        assertEquals(LossReason.TAKEN, lease.onLoss().join().reason());
      }
      assertTrue(operator.semaphore("revoked", 3).tryAcquire().isEmpty());
      assertEquals(
          2,
          operator.admin().inspect("revoked").holders().stream()
              .filter(holder -> holder.label().orElseThrow().endsWith(" (revoked)"))
              .count());
      // The second revocation restarts the time of both leases.
      assertTrue(operator.admin().revoke("revoked"));
      assertTrue(operator.admin().forceRelease("revoked"));
      Lease next = operator.semaphore("revoked", 3).tryAcquire().orElseThrow();
      assertTrue(next.fencingToken() > second.fencingToken());
    }
  }

  /** Each holder has a lease of its own, as if it belonged to a client of its own. */
  @Test
  void anInterventionTakesNoLongerForManyHoldersThanForOne() throws Exception {
    LockOptions options = OPTIONS.toBuilder().autoRenew(false).build();
    try (FaultProxy proxy = FaultProxy.to(server.host(), server.port());
        LockClient holder = LockClient.open(etcd.uri(), options);
        EtcdBackend operator = Backends.open("etcd://127.0.0.1:" + proxy.port(), OPTIONS)) {
      for (int i = 0; i < 50; i++) {
        var unused = holder.semaphore("interventions", 100).acquire();
      }
      assertTrue(operator.inspect("interventions", in(Duration.ofMinutes(1))).isHeld());
      try (NetworkFault slow = proxy.delay(Direction.SERVER_TO_CLIENT, Duration.ofMillis(300))) {
        assertTrue(operator.revoke("interventions", in(Duration.ofSeconds(14))));
        for (KeyValue entry : queue("interventions")) {
          assertTrue(QueueEntry.label(entry).endsWith(" (revoked)"));
        }
        assertTrue(operator.revoke("interventions", in(Duration.ofSeconds(14))));
        assertTrue(operator.forceRelease("interventions", in(Duration.ofSeconds(14))));
      }
      assertTrue(queue("interventions").isEmpty());
    }
  }

  // --- ends -----------------------------------------------------------------------------------

  @Test
  void theEndOfASessionIsReportedOnlyToItsOwnLeases() throws Exception {
    try (LockClient client = LockClient.open(etcd.uri(), SHORT_TTL);
        LockClient other = LockClient.open(etcd.uri(), SHORT_TTL)) {
      Lease reader = client.readWriteLock("ended read").readLock().acquire();
      Lease permit = client.semaphore("ended permits", 3).acquire();
      Lease theirs = other.readWriteLock("ended read").readLock().acquire();
      Lease permits = other.semaphore("ended permits", 3).permits(2).acquire();
      CompletableFuture<Lease> waiting = other.semaphore("ended permits", 3).acquireAsync();
      awaitWaiters(client, "ended permits", 1);
      own.getLeaseClient().revoke(queue("ended read").get(0).getLease()).get();
      for (Lease lease : List.of(reader, permit)) {
        LeaseLostException loss = lease.onLoss().get(60, TimeUnit.SECONDS);
        assertEquals(LossReason.SESSION_ENDED, loss.reason());
      }
      soon(waiting).release();
      for (Lease lease : List.of(theirs, permits)) {
        lease.renew();
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
      }
    }
  }

  @Test
  void aGuardRefusesWritesOfAReaderThatIsNoLongerInTheQueue() throws Exception {
    try (LockClient one = LockClient.open(etcd.uri(), OPTIONS);
        LockClient two = LockClient.open(etcd.uri(), OPTIONS)) {
      Lease first = one.readWriteLock("guarded").readLock().acquire();
      Lease second = two.readWriteLock("guarded").readLock().acquire();
      EtcdGuard guard = EtcdGuard.of(own, EtcdSettings.defaults(), second);
      first.release();
      assertTrue(write(guard));
      second.release();
      assertFalse(write(guard));
      assertThrows(
          LeaseLostException.class, () -> EtcdGuard.of(own, EtcdSettings.defaults(), second));
    }
  }

  private static boolean write(EtcdGuard guard) throws Exception {
    return own.getKVClient()
        .txn()
        .If(guard.isHeld())
        .Then(Op.put(LockKeys.bytes("data"), LockKeys.bytes("x"), PutOption.DEFAULT))
        .commit()
        .get()
        .isSucceeded();
  }

  // --- faults ---------------------------------------------------------------------------------

  /** The new watch begins after the deletion, so only a read can show the deletion. */
  @Test
  void aWatchThatIsLostLosesNoWaiter() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(server.host(), server.port());
        LockClient holder = LockClient.open(etcd.uri(), OPTIONS);
        LockClient writerClient = LockClient.open("etcd://127.0.0.1:" + proxy.port(), OPTIONS);
        LockClient readerClient = LockClient.open("etcd://127.0.0.1:" + proxy.port(), OPTIONS);
        LockClient permitClient = LockClient.open("etcd://127.0.0.1:" + proxy.port(), OPTIONS)) {
      for (int round = 0; round < 3; round++) {
        Lease written = holder.readWriteLock("watched read").writeLock().acquire();
        Lease permits = holder.semaphore("watched permits", 3).permits(3).acquire();
        CompletableFuture<Lease> reader =
            readerClient.readWriteLock("watched read").readLock().acquireAsync();
        CompletableFuture<Lease> permit =
            permitClient.semaphore("watched permits", 3).acquireAsync();
        awaitWaiters(holder, "watched read", 1);
        awaitWaiters(holder, "watched permits", 1);
        CompletableFuture<Lease> writer =
            writerClient.readWriteLock("watched read").writeLock().acquireAsync();
        awaitWaiters(holder, "watched read", 2);
        try (NetworkFault outage = proxy.refuse()) {
          assertTrue(proxy.reset() > 0, outage::toString);
          written.release();
          permits.release();
        }
        soon(permit).release();
        Lease read = soon(reader);
        assertFalse(writer.isDone());
        read.release();
        soon(writer).release();
      }
    }
  }

  @Test
  void aLostAnswerLosesNoShareAndLeavesNothingBehind() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(server.host(), server.port());
        LockClient client = LockClient.open("etcd://127.0.0.1:" + proxy.port(), LONG_TIMEOUT)) {
      EnumSet<ReleaseOutcome> outcomes = EnumSet.noneOf(ReleaseOutcome.class);
      List<Acquirable<Lease>> all =
          List.of(
              client.readWriteLock("answers/read").readLock(),
              client.readWriteLock("answers/write").writeLock(),
              client.semaphore("answers/permits", 3).permits(2));
      for (int bytes = 0; bytes <= 600; bytes += 40) {
        for (Acquirable<Lease> one : all) {
          one.acquire().release();
          try (NetworkFault fault = proxy.dropAfter(Direction.SERVER_TO_CLIENT, bytes)) {
            Lease lease = one.acquire();
            renew(lease);
            assertTrue(lease.isHeld());
            outcomes.add(lease.release());
            assertFalse(lease.onLoss().isDone(), fault::toString);
          }
        }
      }
      assertFalse(outcomes.contains(ReleaseOutcome.ALREADY_LOST), outcomes::toString);
      assertTrue(outcomes.contains(ReleaseOutcome.UNKNOWN), "no answer to a release was lost");
    }
    Eventually.holds(
        "all is given back", () -> Backends.keys(server, "interlock/lock/answers%2F") == 0);
  }

  private static void renew(Lease lease) throws InterruptedException {
    try {
      lease.renew();
    } catch (LockUnavailableException e) {
      // The renewal may have succeeded.
    }
  }

  /** A reader's key that stayed would keep writers out. */
  @Test
  void aReaderWhoseAnswerWasLostIsUndone() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(server.host(), server.port());
        EtcdBackend backend = Backends.open("etcd://127.0.0.1:" + proxy.port(), LONG_TIMEOUT)) {
      Claim warm = claim("in doubt", Share.READ);
      assertInstanceOf(Attempt.Granted.class, backend.tryAcquire(warm, in(Eventually.LIMIT)));
      assertTrue(backend.release(warm, in(Eventually.LIMIT)));
      Claim claim = claim("in doubt", Share.READ);
      CompletableFuture<Void> joined;
      try (NetworkFault fault = proxy.loseReplies("~read/")) {
        joined =
            CompletableFuture.runAsync(
                () ->
                    assertThrows(
                        LockUnavailableException.class,
                        () -> backend.join(claim, in(Eventually.LIMIT))));
        Eventually.holds("the key is put", () -> queue("in doubt").size() == 1);
        assertTrue(fault.awaitHit(Eventually.LIMIT));
      } // the connection is reset now
      joined.get(60, TimeUnit.SECONDS);
      Eventually.holds("it is undone", () -> isReleased(backend, claim));
      assertEquals(0, queue("in doubt").size());
    }
  }

  private static boolean isReleased(EtcdBackend backend, Claim claim) throws InterruptedException {
    try {
      boolean unused = backend.release(claim, in(Eventually.LIMIT));
      return true;
    } catch (LockUnavailableException e) {
      return false;
    }
  }

  @Test
  void theWeightsOfManyClientsNeverExceedTheCapacity() throws Exception {
    LockOptions options = LONG_TIMEOUT.toBuilder().ttl(Duration.ofSeconds(20)).build();
    try (FaultProxy proxy = FaultProxy.to("127.0.0.1", server.port())) {
      String uri = "etcd://127.0.0.1:" + proxy.port();
      AtomicInteger permits = new AtomicInteger();
      AtomicInteger readers = new AtomicInteger();
      AtomicInteger writers = new AtomicInteger();
      AtomicInteger grants = new AtomicInteger();
      AtomicBoolean done = new AtomicBoolean();
      List<LockClient> clients = new ArrayList<>();
      ExecutorService workers = Executors.newCachedThreadPool();
      List<Future<?>> results = new ArrayList<>();
      try {
        for (int i = 0; i < 8; i++) {
          LockClient client = LockClient.open(i % 2 == 0 ? uri : etcd.uri(), options);
          clients.add(client);
          Random random = new Random(i);
          results.add(
              workers.submit(
                  () -> {
                    while (!done.get()) {
                      int weight = 1 + random.nextInt(5);
                      boolean writes = random.nextInt(4) == 0;
                      try (Lease lease =
                          client.semaphore("storm/permits", 5).permits(weight).acquire()) {
                        boolean fits = permits.addAndGet(weight) <= 5;
                        permits.addAndGet(-weight);
                        assertTrue(fits || !lease.isHeld(), "more permits than there are");
                        grants.incrementAndGet();
                      } catch (LockException e) {
                        // The store was not reachable for a TTL.
                      }
                      try (Lease lease =
                          writes
                              ? client.readWriteLock("storm/rw").writeLock().acquire()
                              : client.readWriteLock("storm/rw").readLock().acquire()) {
                        AtomicInteger mine = writes ? writers : readers;
                        boolean alone = mine.incrementAndGet() == 1 && readers.get() == 0;
                        boolean allowed = writes ? alone : writers.get() == 0;
                        mine.decrementAndGet();
                        assertTrue(allowed || !lease.isHeld(), "a writer is not alone");
                        grants.incrementAndGet();
                      } catch (LockException e) {
                        // The store was not reachable for a TTL.
                      }
                    }
                    return null;
                  }));
        }
        for (int resets = 0; resets < 4; resets++) {
          int before = grants.get();
          Eventually.holds("it goes on", () -> grants.get() > before + 20);
          proxy.reset();
        }
        done.set(true);
        for (Future<?> result : results) {
          result.get(120, TimeUnit.SECONDS);
        }
      } finally {
        done.set(true);
        workers.shutdownNow();
        clients.forEach(LockClient::close);
      }
      Eventually.holds(
          "nothing stays", () -> Backends.keys(server, "interlock/lock/storm%2F") == 0);
    }
  }
}
