package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.claim;
import static dev.interlock.etcd.Backends.in;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.QueueingBackend.Place;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import io.etcd.jetcd.Client;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Transactions whose answer was lost, and those that arrive after their deadline. */
class InDoubtTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final Duration TIMEOUT = Duration.ofSeconds(20);

  @AutoClose private static EtcdCluster etcd;
  private static EtcdServer server;

  @BeforeAll
  static void startServer() {
    etcd = Testbed.etcd().forFaults().start();
    server = etcd.leader();
  }

  @Test
  void aKeyWhoseAnswerWasLostIsDeleted() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(server.host(), server.port());
        EtcdBackend backend = Backends.open("etcd://127.0.0.1:" + proxy.port(), TIMEOUT)) {
      assertTrue(released(backend, claim("warm")));
      Claim claim = claim("answer");
      CompletableFuture<Void> joined;
      try (NetworkFault fault = proxy.loseReplies("interlock/lock/answer")) {
        joined = CompletableFuture.runAsync(() -> joinDuringOutage(backend, claim));
        Eventually.holds(
            "the key is put", () -> Backends.keys(server, "interlock/lock/answer/") == 1);
        assertTrue(fault.awaitHit(Eventually.LIMIT));
        assertFalse(joined.isDone());
      } // the connection is reset now
      joined.get(60, TimeUnit.SECONDS);
      Eventually.holds("the claim is undone", () -> isUndone(backend, claim));
      assertEquals(0, Backends.keys(server, "interlock/lock/answer/"));
      assertTrue(released(backend, claim("answer")));
    }
  }

  /**
   * Whichever request was carried out without an answer: if its repetition finds the work done, it
   * must not report a loss.
   */
  @Test
  void aLostAnswerLosesNoLease() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(server.host(), server.port());
        LockClient client =
            LockClient.open("etcd://127.0.0.1:" + proxy.port(), Backends.LONG_TIMEOUT)) {
      EnumSet<ReleaseOutcome> outcomes = EnumSet.noneOf(ReleaseOutcome.class);
      for (int bytes = 0; bytes <= 900; bytes += 30) {
        for (boolean autoRenew : List.of(true, false)) {
          DistributedLock lock = client.lock("answers", options -> options.autoRenew(autoRenew));
          lock.acquire().release();
          try (NetworkFault fault = proxy.dropAfter(Direction.SERVER_TO_CLIENT, bytes)) {
            Lease lease = lock.acquire();
            renew(lease);
            assertTrue(lease.isHeld());
            outcomes.add(lease.release());
            assertFalse(lease.onLoss().isDone(), fault::toString);
          }
        }
      }
      assertFalse(outcomes.contains(ReleaseOutcome.ALREADY_LOST), outcomes::toString);
      assertTrue(outcomes.contains(ReleaseOutcome.UNKNOWN), "no answer to a release was lost");
      client.lock("answers").acquire().release();
    }
    Eventually.holds(
        "all is given back", () -> Backends.keys(server, "interlock/lock/answers/") == 0);
  }

  private static void renew(Lease lease) throws InterruptedException {
    try {
      lease.renew();
    } catch (LockUnavailableException e) {
      // The renewal may have succeeded.
    }
  }

  /**
   * With something to undo, the client would retry that for each attempt while the server is down.
   */
  @Test
  void anAttemptDuringAnOutageLeavesNothingToUndo() throws Exception {
    Duration soon = Duration.ofMillis(300);
    try (FaultProxy proxy = FaultProxy.to(server.host(), server.port());
        EtcdBackend backend = Backends.open("etcd://127.0.0.1:" + proxy.port(), TIMEOUT)) {
      Duration ttl = Duration.ofSeconds(4);
      Claim first = claim("outage", Share.EXCLUSIVE, ttl);
      backend.join(first, in(TIMEOUT)).close();
      try (NetworkFault outage = proxy.partition()) {
        Eventually.holds(
            "nothing is put any more, " + outage,
            () -> {
              Claim claim = claim("outage", Share.EXCLUSIVE, ttl);
              assertThrows(LockUnavailableException.class, () -> backend.join(claim, in(soon)));
              return claim.attachment() == null;
            });
      }
      Eventually.holds("it goes on", () -> released(backend, claim("later", Share.EXCLUSIVE, ttl)));
    }
  }

  private static void joinDuringOutage(EtcdBackend backend, Claim claim) {
    assertThrows(LockUnavailableException.class, () -> backend.join(claim, in(TIMEOUT)));
  }

  private static boolean isUndone(EtcdBackend backend, Claim claim) throws InterruptedException {
    try {
      boolean unused = backend.release(claim, in(TIMEOUT));
      return true;
    } catch (LockUnavailableException e) {
      return false;
    }
  }

  private static boolean released(EtcdBackend backend, Claim claim) throws InterruptedException {
    try (Place place = backend.join(claim, in(TIMEOUT))) {
      assertTrue(place.await(in(TIMEOUT)) instanceof dev.interlock.spi.Attempt.Granted);
    }
    return backend.release(claim, in(TIMEOUT));
  }

  @Test
  void aTransactionThatArrivesAfterItsUndoDoesNothing() throws Exception {
    try (EtcdBackend backend = Backends.open(etcd.uri(), TIMEOUT);
        Client late = Client.builder().endpoints("http://127.0.0.1:" + server.port()).build()) {
      Claim other = claim("late");
      assertTrue(released(backend, other));
      // The claim's transaction is still in flight: the claim has a queue entry, but etcd has no
      // key.
      Claim claim = claim("late");
      Place place = backend.join(claim, in(TIMEOUT));
      QueueEntry sent = QueueEntry.of(claim);
      long guard = sent.session().guard();
      assertTrue(backend.release(claim, in(TIMEOUT)));
      place.close();
      QueueEntry inFlight = sent.session().add(claim, sent.wakeUp(), 0);
      claim.attach(inFlight);
      assertFalse(backend.release(claim, in(TIMEOUT)));

      boolean put =
          late.getKVClient()
              .txn()
              .If(
                  QueueOps.hasModRevision(sent.session().key(), guard),
                  QueueOps.isAbsent(inFlight.key()))
              .Then(QueueOps.put(inFlight.key(), inFlight.value(), sent.session().lease()))
              .commit()
              .get()
              .isSucceeded();
      assertFalse(put);
      assertEquals(0, Backends.keys(server, "interlock/lock/late/"));
      // Other claims of the same session are still served.
      assertTrue(released(backend, claim("late")));
    }
  }

  /**
   * The engine knows only claims. If a loss were reported, it would apply to the claim's grant on
   * the next session, and leave its key there as long as that session lives.
   */
  @Test
  void aClaimWithoutAPlaceIsNotReportedLostWithItsSession() throws Exception {
    try (EtcdBackend backend = Backends.open(etcd.uri(), TIMEOUT)) { // fails if told of a loss
      Claim first = claim("session");
      Place place = backend.join(first, in(TIMEOUT));
      Session session = QueueEntry.of(first).session();
      assertTrue(backend.release(first, in(TIMEOUT)));
      place.close();
      Claim inFlight = claim("other");
      QueueEntry entry = session.add(inFlight, new WakeUp(Backends.TIME), 0);
      inFlight.attach(entry);

      server.call("/v3/lease/revoke", "{\"ID\":\"" + session.lease() + "\"}");
      assertTrue(released(backend, claim("session")), "on another session");

      assertTrue(session.hasEnded());
      // The answer was late: the key has ended with the session.
      assertFalse(session.recordCreation(entry, 1));
      assertEquals(0, entry.revision());
    }
  }

  /** An outage was longer than the session's TTL. */
  @Test
  void anAttemptSucceedsAlthoughItsSessionHasEndedUnnoticed() throws Exception {
    AtomicLong ahead = new AtomicLong();
    TimeSource time =
        new TimeSource() {
          @Override
          public long nanoTime() {
            return Backends.TIME.nanoTime() + ahead.get();
          }

          @Override
          public long wallMillis() {
            return Backends.TIME.wallMillis();
          }

          @Override
          public void parkUntil(Object blocker, long untilNanos) {
            Backends.TIME.parkUntil(blocker, untilNanos - ahead.get());
          }
        };
    try (EtcdBackend backend = Backends.open(etcd.uri(), Backends.LONG_TIMEOUT, time)) {
      Claim first = claim("unnoticed");
      Place place = backend.join(first, Deadline.in(time, TIMEOUT));
      Session session = QueueEntry.of(first).session();
      assertTrue(backend.release(first, Deadline.in(time, TIMEOUT)));
      place.close();

      server.call("/v3/lease/revoke", "{\"ID\":\"" + session.lease() + "\"}");
      ahead.set(session.timeToLive().toNanos());
      assertTrue(session.isOverdue(time));
      assertInstanceOf(
          Attempt.Granted.class,
          backend.tryAcquire(claim("unnoticed"), Deadline.in(time, TIMEOUT)));
    }
  }

  @Test
  void aReleaseOfAnUnknownClaimDoesNothing() throws Exception {
    try (EtcdBackend backend = Backends.open(etcd.uri(), TIMEOUT)) {
      assertFalse(backend.release(claim("never"), in(TIMEOUT)));
    }
  }
}
