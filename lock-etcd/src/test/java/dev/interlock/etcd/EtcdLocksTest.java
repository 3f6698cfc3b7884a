package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.LONG_TIMEOUT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;

/** Clients of the program's own, guards of writes to etcd, and the costs of locks on the server. */
class EtcdLocksTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final ByteSequence KEY = LockKeys.bytes("data/orders/42");
  private static final LockOptions SHORT_TTL =
      LONG_TIMEOUT.toBuilder().ttl(Duration.ofSeconds(8)).build();

  @AutoClose private static EtcdCluster etcd;
  private static EtcdServer server;
  @AutoClose private static Client own;

  @BeforeAll
  static void startServer() throws Exception {
    etcd = Testbed.etcd().forFaults().start();
    server = etcd.leader();
    own = Client.builder().endpoints("http://127.0.0.1:" + server.port()).build();
    // The first request loads the client's classes, which takes long on a busy machine.
    own.getKVClient().get(KEY).get(2, TimeUnit.MINUTES);
  }

  private static void withFixedTtl(LockOptions.Builder options) {
    options.autoRenew(false).ttl(Duration.ofMinutes(5));
  }

  @Test
  void aProgramsClientIsUsedAndNeverClosed() throws Exception {
    LockClient locks = EtcdLocks.using(own, LONG_TIMEOUT);
    Lease lease = locks.lock("own").acquire();
    try (LockClient others = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      assertTrue(others.lock("own").tryAcquire().isEmpty());
      locks.close();
      assertTrue(others.lock("own").tryAcquire(Eventually.LIMIT).isPresent());
    }
    assertFalse(lease.isHeld());
    assertEquals(0, own.getKVClient().get(LockKeys.bytes("nothing")).get().getCount());
  }

  @Test
  void aClosedClientOfTheProgramIsReportedAtOnce() throws Exception {
    Client closed = Client.builder().endpoints("http://127.0.0.1:" + server.port()).build();
    try (LockClient locks = EtcdLocks.using(closed, LONG_TIMEOUT)) {
      Lease lease = locks.lock("a").acquire();
      closed.close();
      // With the default outage time-out this would take a TTL.
      for (Executable request :
          List.<Executable>of(() -> locks.lock("b").acquire(), lease::renew)) {
        String message = assertThrows(LockConfigurationException.class, request).getMessage();
        assertTrue(message.contains("was closed before the LockClient"), message);
      }
    }
    assertThrows(LockConfigurationException.class, () -> EtcdLocks.using(closed, LONG_TIMEOUT));
  }

  @Test
  void thePromisesDependOnTheNumberOfMembers() {
    try (LockClient client = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        EtcdCluster three = Testbed.etcd().members(3).start();
        LockClient clustered =
            LockClient.open("etcd://127.0.0.1:" + three.members().get(1).port(), LONG_TIMEOUT)) {
      assertFalse(client.backend().has(Capability.REPLICATED));
      // The number of members comes from the cluster, and not from the URI.
      assertTrue(clustered.backend().has(Capability.REPLICATED));
    }
  }

  @Test
  void aGuardedWriteIsRefusedAsSoonAsTheLockIsGone() throws Exception {
    try (LockClient client = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        LockClient operator = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      // Without a renewal the holder does not notice.
      Lease lease = client.lock("guarded", EtcdLocksTest::withFixedTtl).acquire();
      EtcdGuard guard = guard(lease);
      assertTrue(write(guard, "ours"));
      assertTrue(operator.admin().forceRelease("guarded"));
      // No other client has joined yet.
      assertTrue(lease.isHeld());
      assertFalse(write(guard, "late"));
      assertEquals("ours", own.getKVClient().get(KEY).get().getKvs().get(0).getValue().toString());
      assertThrows(LeaseLostException.class, () -> guard(lease));
      Lease next = operator.lock("guarded").acquire();
      assertTrue(write(guard(next), "theirs"));
      assertFalse(write(guard, "late"));
    }
  }

  @Test
  void aGuardedWriteIsRefusedBetweenTheReadOfTheSuccessorAndItsWrite() throws Exception {
    try (LockClient client = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        LockClient operator = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      Lease lease = client.lock("stock", EtcdLocksTest::withFixedTtl).acquire();
      EtcdGuard guard = guard(lease);
      assertTrue(write(guard, "1"));
      int read = stock();
      assertTrue(operator.admin().forceRelease("stock"));
      EtcdGuard successor = guard(operator.lock("stock").acquire());
      int readBySuccessor = stock();
      assertFalse(write(guard, "" + (read - 1)));
      assertTrue(write(successor, "" + (readBySuccessor - 1)));
      assertEquals(0, stock());
    }
  }

  private static int stock() throws Exception {
    return Integer.parseInt(own.getKVClient().get(KEY).get().getKvs().get(0).getValue().toString());
  }

  private static EtcdGuard guard(Lease lease) throws InterruptedException {
    for (int tries = 1; ; tries++) {
      try {
        return EtcdGuard.of(own, EtcdSettings.defaults(), lease);
      } catch (LockUnavailableException e) {
        // This waits for the default request time-out, and a stall may be longer.
        if (tries == 10) {
          throw e;
        }
      }
    }
  }

  private static boolean write(EtcdGuard guard, String value) throws Exception {
    return own.getKVClient()
        .txn()
        .If(guard.isHeld())
        .Then(Op.put(KEY, LockKeys.bytes(value), PutOption.DEFAULT))
        .commit()
        .get()
        .isSucceeded();
  }

  @Test
  void closingWaitsForPendingRevocations() throws Exception {
    Eventually.holds("no lease of another test is left", () -> Backends.leases(server) == 0);
    try (FaultProxy proxy = FaultProxy.to(server.host(), server.port());
        LockClient client = LockClient.open("etcd://127.0.0.1:" + proxy.port(), LONG_TIMEOUT)) {
      Lease lease = client.lock("given back", EtcdLocksTest::withFixedTtl).acquire();
      try (NetworkFault late = proxy.delay(Direction.CLIENT_TO_SERVER, Duration.ofSeconds(1))) {
        lease.release();
        client.close();
        assertEquals(0, Backends.leases(server), () -> "with " + late);
      }
    }
  }

  @Test
  void renewedLocksShareALeaseAndFixedTtlsHaveTheirOwn() throws Exception {
    Eventually.holds("no lease of another test is left", () -> Backends.leases(server) == 0);
    try (LockClient client = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      List<Lease> leases = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        leases.add(client.lock("shared-" + i).acquire());
      }
      assertEquals(1, Backends.leases(server));
      leases.add(client.lock("withFixedTtl", options -> options.autoRenew(false)).acquire());
      assertEquals(2, Backends.leases(server));
      leases.forEach(Lease::release);
      Eventually.holds("the lease with the fixed TTL ends", () -> Backends.leases(server) == 1);
    }
    Eventually.holds("the session ends with its client", () -> Backends.leases(server) == 0);
    assertEquals(0, Backends.keys(server, "interlock/"));
  }

  /** Before a compaction, a read of etcd also passes all keys that ever existed. */
  @Test
  void aNameThatIsUsedRepeatedlyHasOneKey() throws Exception {
    try (LockClient client = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      Set<ByteSequence> keys = new HashSet<>();
      Set<Long> leases = new HashSet<>();
      for (int i = 0; i < 50; i++) {
        try (Lease lease = client.lock("again").acquire()) {
          KeyValue key = first("again");
          keys.add(key.getKey());
          leases.add(key.getLease());
          assertTrue(lease.isHeld());
        }
      }
      // On a machine that stalled for long the client may have needed another session.
      assertEquals(leases.size(), keys.size());
    }
  }

  private static KeyValue first(String name) throws Exception {
    return own.getKVClient()
        .get(LockKeys.of("interlock", name).prefix(), QueueOps.oldest(1))
        .get()
        .getKvs()
        .get(0);
  }

  @Test
  void anUnusedSessionIsEnded() throws Exception {
    try (LockClient client = LockClient.open(etcd.uri(), SHORT_TTL)) {
      ByteSequence session;
      try (Lease lease = client.lock("idle").acquire()) {
        session = LockKeys.session("interlock", first("idle").getLease());
      }
      Eventually.holds(
          "the session's key goes", () -> own.getKVClient().get(session).get().getCount() == 0);
      client.lock("idle").acquire().release();
    }
  }

  @Test
  void theEndOfASessionIsReportedToAllItsLocksAndTheClientContinues() throws Exception {
    try (LockClient client = LockClient.open(etcd.uri(), SHORT_TTL)) {
      Lease one = client.lock("one").acquire();
      Lease two = client.lock("two").acquire();
      own.getLeaseClient().revoke(first("one").getLease()).get();
      for (Lease lease : List.of(one, two)) {
        LeaseLostException loss = lease.onLoss().get(60, TimeUnit.SECONDS);
        assertEquals(LossReason.SESSION_ENDED, loss.reason());
      }
      try (Lease again = client.lock("one").acquire()) {
        assertTrue(again.isHeld());
      }
    }
  }

  /** The lease of the session is intact, so its key only needs to be written again. */
  @Test
  void aDeletedSessionKeyLosesNoLock() throws Exception {
    try (LockClient client = LockClient.open(etcd.uri(), SHORT_TTL)) {
      Lease lease = client.lock("keyless").acquire();
      ByteSequence key = LockKeys.session("interlock", first("keyless").getLease());
      assertEquals(1, own.getKVClient().delete(key).get().getDeleted());
      try (Lease other = client.lock("another").acquire()) {
        assertEquals(first("keyless").getLease(), first("another").getLease());
        lease.renew();
        assertTrue(other.isHeld());
      }
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
    }
  }

  @Test
  void aWaiterWhoseSessionEndedJoinsTheQueueAgain() throws Exception {
    try (LockClient holder = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        LockClient waiting = LockClient.open(etcd.uri(), SHORT_TTL)) {
      Lease lease = holder.lock("line").acquire();
      CompletableFuture<Lease> waiter = waiting.lock("line").acquireAsync();
      Eventually.holds("it waits", () -> holder.admin().inspect("line").waiters().size() == 1);
      List<KeyValue> line =
          own.getKVClient()
              .get(LockKeys.of("interlock", "line").prefix(), QueueOps.all())
              .get()
              .getKvs();
      own.getLeaseClient().revoke(line.get(1).getLease()).get();
      Eventually.holds(
          "it waits again", () -> holder.admin().inspect("line").waiters().size() == 1);
      assertFalse(waiter.isDone());
      lease.release();
      waiter.get(60, TimeUnit.SECONDS).release();
    }
  }

  @Test
  void aNamespaceThatCannotWorkIsRefused() {
    // The locks of "app/lock/a" would be entries in the queue of the lock "a" of "app".
    for (String namespace : List.of("white space", "app/lock/a", "app/lock")) {
      assertThrows(
          LockConfigurationException.class, () -> EtcdSettings.builder().namespace(namespace));
    }
    for (String namespace : List.of("lock", "app/locks", "team/app", "lock/app")) {
      assertEquals(namespace, EtcdSettings.builder().namespace(namespace).build().namespace());
    }
  }
}
