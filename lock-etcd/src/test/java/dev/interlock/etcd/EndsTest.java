package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.LONG_TIMEOUT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.QueueingBackend.Place;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Leases that are never released, or whose release is refused. Each test has its own server and
 * mostly waits, so the tests run concurrently.
 */
@Execution(ExecutionMode.CONCURRENT)
class EndsTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final LockOptions SHORT_TTL =
      LONG_TIMEOUT.toBuilder().ttl(Duration.ofSeconds(8)).build();

  private static LossReason reason(Lease lease) throws Exception {
    return lease.onLoss().get(60, TimeUnit.SECONDS).reason();
  }

  /**
   * An unused session ends only when nothing is left on it, so its end shows that nothing is left.
   */
  @Test
  void expiredAndForcedLeasesLeaveNothingBehind() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().withoutSync().start();
        LockClient client = LockClient.open(etcd.uri(), SHORT_TTL)) {
      EtcdServer server = etcd.leader();
      List<CompletableFuture<Lease>> fixed = new ArrayList<>();
      for (int i = 0; i < 300; i++) {
        fixed.add(client.lock("fixed-" + i, options -> options.autoRenew(false)).acquireAsync());
      }
      Lease taken = client.lock("taken").acquire();
      assertTrue(client.admin().forceRelease("taken"));
      assertEquals(LossReason.TAKEN, reason(taken));
      for (CompletableFuture<Lease> lease : fixed) {
        assertEquals(LossReason.EXPIRED, reason(lease.get(60, TimeUnit.SECONDS)));
      }
      Eventually.holds("the locks are gone", () -> Backends.keys(server, "interlock/lock/") == 0);
      Eventually.holds("the sessions end", () -> Backends.leases(server) == 0);
      assertEquals(0, Backends.keys(server, "interlock/"));
      client.lock("fixed-0", options -> options.autoRenew(false)).acquire().release();
    }
  }

  /** An administrator has narrowed a permission by mistake. */
  @Test
  void aRefusedReleaseIsRepeatedUntilItIsPermitted() throws Exception {
    LockOptions longTtl = LONG_TIMEOUT.toBuilder().ttl(Duration.ofMinutes(10)).build();
    try (EtcdCluster etcd = Testbed.etcd().password("s3cret").withoutSync().start();
        LockClient other = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      EtcdServer server = etcd.leader();
      Backends.addUser(server, "app", "READWRITE");
      try (LockClient client = LockClient.open(Backends.as("app", etcd), longTtl)) {
        Lease lease = client.lock("job").acquire();
        Backends.permit(server, "app", "READ");
        assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
        assertThrows(LockConfigurationException.class, () -> client.lock("new").tryAcquire());
        assertTrue(other.lock("job").tryAcquire().isEmpty());
        Backends.permit(server, "app", "READWRITE");
        other.lock("job").tryAcquire(Eventually.LIMIT).orElseThrow().release();
      }
    }
  }

  @Test
  void aLockThatMayNotBeReleasedEndsWithItsSessionAfterATtl() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().password("s3cret").withoutSync().start();
        LockClient other = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      EtcdServer server = etcd.leader();
      Backends.addUser(server, "app", "READWRITE");
      try (LockClient client = LockClient.open(Backends.as("app", etcd), SHORT_TTL)) {
        Lease bystander = client.lock("bystander").acquire();
        Lease stuck = client.lock("stuck").acquire();
        Backends.permit(server, "app", "READ");
        long refusedAt = System.nanoTime();
        assertEquals(ReleaseOutcome.UNKNOWN, stuck.release());
        LeaseLostException loss = bystander.onLoss().get(60, TimeUnit.SECONDS);
        assertTrue(System.nanoTime() - refusedAt >= SHORT_TTL.ttl().toNanos(), "ended early");
        assertEquals(LossReason.SESSION_ENDED, loss.reason());
        assertTrue(loss.detail().contains("refuses to delete"), loss::detail);
        other.lock("stuck").tryAcquire(Eventually.LIMIT).orElseThrow().release();
      }
    }
  }

  /** etcd refuses the deletion before it checks whether the key exists. */
  @Test
  void aRefusedReleaseOfAMissingKeyEndsNoSession() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().password("s3cret").withoutSync().start();
        LockClient other = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      EtcdServer server = etcd.leader();
      Backends.addUser(server, "app", "READWRITE");
      try (LockClient client = LockClient.open(Backends.as("app", etcd), LONG_TIMEOUT)) {
        Lease forced = client.lock("forced").acquire();
        Lease next = client.lock("next").acquire();
        Lease revoked = client.lock("revoked").acquire();
        Lease lease = client.lock("held").acquire();
        Backends.permit(server, "app", "READ");
        assertTrue(other.admin().forceRelease("forced"));
        assertTrue(other.admin().forceRelease("next"));
        assertTrue(other.lock("next").tryAcquire().isPresent());
        assertTrue(other.admin().revoke("revoked"));
        assertEquals(ReleaseOutcome.ALREADY_LOST, forced.release());
        assertEquals(ReleaseOutcome.ALREADY_LOST, next.release());
        assertEquals(ReleaseOutcome.ALREADY_LOST, revoked.release());
        assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
        assertTrue(other.lock("next").tryAcquire().isEmpty());
      }
    }
  }

  /** The answer to the move to that lease was lost, so the acquisition failed. */
  @Test
  void noSessionIsEndedForAKeyOnALeaseOfItsOwn() throws Exception {
    Duration limit = Duration.ofSeconds(60);
    try (EtcdCluster etcd = Testbed.etcd().password("s3cret").withoutSync().start()) {
      Backends.addUser(etcd.leader(), "app", "READWRITE");
      try (EtcdBackend backend = Backends.open(Backends.as("app", etcd), limit)) {
        Claim claim =
            new Claim(
                "moved", "id-of-the-moved-one", limit, false, "host/1/test", System.nanoTime());
        Place place = backend.join(claim, Backends.in(limit));
        assertInstanceOf(Attempt.Granted.class, place.await(Backends.in(limit)));
        Backends.permit(etcd.leader(), "app", "READ");
        LockConfigurationException refusal =
            assertThrows(
                LockConfigurationException.class, () -> backend.release(claim, Backends.in(limit)));
        assertFalse(backend.endSession(claim, limit, refusal), "it ends without help");
        assertFalse(QueueEntry.of(claim).session().hasEnded());
        Backends.permit(etcd.leader(), "app", "READWRITE");
        assertTrue(backend.release(claim, Backends.in(limit)));
      }
    }
  }

  private static void withShortTtl(LockOptions.Builder options) {
    options.autoRenew(false).ttl(Duration.ofSeconds(2));
  }

  /** The expired key may still exist when the name is acquired again. */
  @Test
  void aNameCanBeUsedAgainAsSoonAsItsLeaseHasExpired() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().withoutSync().start();
        LockClient client = LockClient.open(etcd.uri(), SHORT_TTL)) {
      long token = 0;
      for (int i = 0; i < 2; i++) {
        Lease lease = client.lock("again", EndsTest::withShortTtl).acquire();
        assertTrue(lease.fencingToken() > token);
        token = lease.fencingToken();
        assertEquals(LossReason.EXPIRED, reason(lease));
      }
      EtcdServer server = etcd.leader();
      Eventually.holds("the sessions end", () -> Backends.leases(server) == 0);
    }
  }
}
