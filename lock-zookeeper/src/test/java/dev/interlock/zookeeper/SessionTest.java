package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.QueueingBackend.Place;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.run.Proxies;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException.NoNodeException;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Locks and waiters whose connections break or whose sessions end. Each test has its own connection
 * and lock and mostly waits, so the tests run concurrently.
 */
@Execution(ExecutionMode.CONCURRENT)
class SessionTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final long LIMIT_SECONDS = 60;

  @AutoClose private static ZooKeeperEnsemble server;
  @AutoClose private static CuratorFramework observer;

  private Network network;
  private CuratorFramework curator;

  @BeforeAll
  static void start() {
    server = Backends.server();
    observer = Backends.curator(server.connectString());
  }

  @BeforeEach
  void connect() throws Exception {
    network = Proxies.network(server.uri(), 2181).orElseThrow();
    curator = Backends.curator(network.uri().substring("zookeeper://".length()));
  }

  @AfterEach
  void disconnect() {
    network.heal();
    curator.close();
    network.close();
  }

  private LockClient client() {
    return ZooKeeperLocks.using(curator, Backends.SETTINGS, Backends.OPTIONS);
  }

  private void expire() throws Exception {
    Backends.expire(curator, server.connectString());
  }

  private static int nodesOf(String name) throws Exception {
    try {
      return observer.getChildren().forPath("/interlock/" + name).size();
    } catch (NoNodeException e) {
      return 0;
    }
  }

  @Test
  void aLeaseIsLostAtOnceWhenItsSessionEndsAndTheNextOneHasAHigherToken() throws Exception {
    try (LockClient client = client()) {
      Lease lease = client.lock("ended").acquire();
      expire();
      LeaseLostException loss = lease.onLoss().get(LIMIT_SECONDS, TimeUnit.SECONDS);
      assertEquals(LossReason.SESSION_ENDED, loss.reason());
      assertFalse(lease.isHeld());
      assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
      Lease next = client.lock("ended").tryAcquire(Duration.ofSeconds(LIMIT_SECONDS)).orElseThrow();
      assertTrue(next.fencingToken() > lease.fencingToken());
      next.release();
    }
  }

  @Test
  void aWaiterWhoseSessionEndsJoinsTheQueueAgainAndIsServed() throws Exception {
    try (LockClient holder = Backends.client(server);
        LockClient client = client()) {
      Lease heldLease = holder.lock("again").acquire();
      CompletableFuture<Optional<Lease>> waiter =
          client.lock("again").tryAcquireAsync(Duration.ofSeconds(60));
      Eventually.holds("it waits", () -> holder.admin().inspect("again").waiters().size() == 1);
      Set<String> before = Set.copyOf(observer.getChildren().forPath("/interlock/again"));
      expire();
      Eventually.holds(
          "in line again, with another node",
          () -> {
            List<String> now = observer.getChildren().forPath("/interlock/again");
            return now.size() == 2 && !before.containsAll(now);
          });
      heldLease.release();
      Lease lease = waiter.get(LIMIT_SECONDS, TimeUnit.SECONDS).orElseThrow();
      assertTrue(lease.isHeld());
      lease.release();
    }
  }

  /** CURATOR-604: a node that outlived its session's client grants nothing. */
  @Test
  void aPlaceOnAnEndedSessionIsNeverGranted() throws Exception {
    try (ZooKeeperBackend backend = Backends.on(curator)) {
      Claim claim = Backends.claim("former");
      try (Place place = backend.join(claim, Backends.soon())) {
        Session former = ((QueueNode) claim.attachment()).session();
        expire();
        Eventually.holds("another session", () -> isAnother(backend, former));
        assertThrows(LockUnavailableException.class, () -> place.await(Backends.soon()));
      }
      Grant grant = Backends.take(backend, Backends.claim("former"));
      assertEquals(
          curator.getZookeeperClient().getZooKeeper().getSessionId(),
          observer
              .checkExists()
              .forPath(((QueueNode) grant.claim().attachment()).path())
              .getEphemeralOwner());
      backend.release(grant.claim(), Backends.soon());
    }
  }

  private static boolean isAnother(ZooKeeperBackend backend, Session former) throws Exception {
    Claim probe = Backends.claim("probe");
    try {
      Backends.take(backend, probe);
    } catch (LockUnavailableException e) {
      return false;
    } finally {
      backend.release(probe, Backends.soon());
    }
    return ((QueueNode) probe.attachment()).session() != former;
  }

  /** CURATOR-678: a deletion that failed must not leave the node for as long as the session. */
  @Test
  void aFailedReleaseIsRepeatedOnTheSameSession() throws Exception {
    try (LockClient client = client()) {
      Lease lease = client.lock("kept").acquire();
      long session = curator.getZookeeperClient().getZooKeeper().getSessionId();
      try (Disturbance cut = network.cut()) {
        assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
        assertEquals(1, nodesOf("kept"));
      }
      Eventually.holds("the node is gone", () -> nodesOf("kept") == 0);
      assertEquals(session, curator.getZookeeperClient().getZooKeeper().getSessionId());
    }
  }

  @Test
  void aClosedClientsLeftoverNodeIsDeletedThroughTheProgramsFramework() throws Exception {
    LockClient client = client();
    Lease lease = client.lock("orphan").acquire();
    long session = curator.getZookeeperClient().getZooKeeper().getSessionId();
    try (Disturbance cut = network.cut()) {
      client.close();
      assertFalse(lease.isHeld());
      assertEquals(1, nodesOf("orphan"));
    }
    Eventually.holds("the node is gone", () -> nodesOf("orphan") == 0);
    assertEquals(session, curator.getZookeeperClient().getZooKeeper().getSessionId());
  }

  @Test
  void anAttemptInDoubtWhenItsClientIsClosedLeavesNoNodeOnTheProgramsSession() throws Exception {
    LockClient client = client();
    client.lock("doubtful").acquire().release();
    long session = curator.getZookeeperClient().getZooKeeper().getSessionId();
    try (Disturbance lost = network.everywhere(way -> way.loseReplies("doubtful/"))) {
      CompletableFuture<Lease> attempt = client.lock("doubtful").acquireAsync();
      Eventually.holds("the node was made", () -> nodesOf("doubtful") > 0);
      try (Disturbance cut = network.cut()) {
        client.close();
        assertThrows(ExecutionException.class, () -> attempt.get(LIMIT_SECONDS, TimeUnit.SECONDS));
        assertEquals(1, nodesOf("doubtful"));
      }
    }
    Eventually.holds("the node is gone", () -> nodesOf("doubtful") == 0);
    assertEquals(session, curator.getZookeeperClient().getZooKeeper().getSessionId());
  }

  @Test
  void anAttemptAfterTheClosingCreatesNoNodeOnTheProgramsSession() throws Exception {
    ZooKeeperBackend backend = Backends.on(curator);
    Backends.take(backend, Backends.claim("late"));
    backend.close();
    Claim late = Backends.claim("late");
    assertThrows(LockUnavailableException.class, () -> backend.join(late, Backends.soon()));
    Eventually.holds("what was held is gone", () -> nodesOf("late") == 0);
  }

  @Test
  void aNodeThatMayBeDeletedAgainIsDeletedFromTheProgramsSession() throws Exception {
    Duration ttl = Duration.ofSeconds(6); // as long as the session, for it to be given up
    LockOptions options = Backends.OPTIONS.toBuilder().ttl(ttl).build();
    try (CuratorFramework program = Backends.curator(server.connectString(), ttl)) {
      LockClient client = ZooKeeperLocks.using(program, Backends.SETTINGS, options);
      Lease lease = client.lock("refused").acquire();
      Lease kept = client.lock("refused-at-closing").acquire();
      for (String name : List.of("refused", "refused-at-closing")) {
        observer.setACL().withACL(all(Perms.ALL & ~Perms.DELETE)).forPath("/interlock/" + name);
      }
      long refusedAt = System.nanoTime();
      assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
      Eventually.holds("a TTL has passed", () -> System.nanoTime() - refusedAt > 2 * ttl.toNanos());
      assertEquals(1, nodesOf("refused"));
      assertTrue(kept.isHeld());
      observer.setACL().withACL(all(Perms.ALL)).forPath("/interlock/refused");
      Eventually.holds("the node is gone", () -> nodesOf("refused") == 0);
      long session = program.getZookeeperClient().getZooKeeper().getSessionId();
      client.close();
      assertEquals(1, nodesOf("refused-at-closing"));
      observer.setACL().withACL(all(Perms.ALL)).forPath("/interlock/refused-at-closing");
      Eventually.holds("the node is gone", () -> nodesOf("refused-at-closing") == 0);
      assertEquals(session, program.getZookeeperClient().getZooKeeper().getSessionId());
    }
  }

  @Test
  void aReleaseWhoseAnswerWasLostIsNoLoss() throws Exception {
    try (LockClient client = client()) {
      Lease lease = client.lock("answerless").acquire();
      CompletableFuture<ReleaseOutcome> outcome;
      try (Disturbance lost = network.everywhere(way -> way.loseReplies("answerless/"))) {
        outcome = CompletableFuture.supplyAsync(lease::release);
        Eventually.holds("the node is gone", () -> nodesOf("answerless") == 0);
      } // the connection is reset now, and the deletion sent again
      assertNotEquals(ReleaseOutcome.ALREADY_LOST, outcome.get(LIMIT_SECONDS, TimeUnit.SECONDS));
      assertFalse(lease.onLoss().isDone());
    }
  }

  @Test
  void aReleaseWhoseAnswerWasLostIsNoLossEitherIfItMayNotBeRepeated() throws Exception {
    try (LockClient client = client()) {
      Lease lease = client.lock("unrepeatable").acquire();
      CompletableFuture<ReleaseOutcome> outcome;
      try (Disturbance lost = network.everywhere(way -> way.loseReplies("unrepeatable/"))) {
        outcome = CompletableFuture.supplyAsync(lease::release);
        Eventually.holds("the node is gone", () -> nodesOf("unrepeatable") == 0);
        observer
            .setACL()
            .withACL(all(Perms.ALL & ~Perms.DELETE))
            .forPath("/interlock/unrepeatable");
      }
      assertEquals(ReleaseOutcome.UNKNOWN, outcome.get(LIMIT_SECONDS, TimeUnit.SECONDS));
      assertFalse(lease.onLoss().isDone());
    }
  }

  /** The servers check no permission when they end a session. */
  @Test
  void aNodeThatMayNotBeDeletedEndsWithItsSessionAfterATtl() throws Exception {
    Duration ttl = Duration.ofSeconds(10);
    String uri = Backends.uri(server) + "&sessionTimeout=10s";
    try (LockClient client = LockClient.open(uri, Backends.OPTIONS.toBuilder().ttl(ttl).build());
        LockClient other = Backends.client(server)) {
      Lease bystander = client.lock("bystander").acquire();
      Lease stuck = client.lock("stuck").acquire();
      observer.setACL().withACL(all(Perms.ALL & ~Perms.DELETE)).forPath("/interlock/stuck");
      long refusedAt = System.nanoTime();
      assertEquals(ReleaseOutcome.UNKNOWN, stuck.release());
      LeaseLostException loss = bystander.onLoss().get(LIMIT_SECONDS, TimeUnit.SECONDS);
      assertTrue(System.nanoTime() - refusedAt >= ttl.toNanos());
      assertEquals(LossReason.SESSION_ENDED, loss.reason());
      assertTrue(loss.detail().contains("the servers refuse to delete"), loss::toString);
      Eventually.holds("the nodes are gone", () -> nodesOf("stuck") + nodesOf("bystander") == 0);
      observer.setACL().withACL(all(Perms.ALL)).forPath("/interlock/stuck");
      Lease next = other.lock("stuck").tryAcquire(Duration.ofSeconds(LIMIT_SECONDS)).orElseThrow();
      assertEquals(ReleaseOutcome.RELEASED, next.release());
    }
  }

  /** A waiter may have a shorter TTL than the leases of others on its session. */
  @Test
  void aSessionIsNotEndedForARefusalShorterThanItsTimeout() throws Exception {
    Map<Claim, String> lost = new ConcurrentHashMap<>();
    LockConfigurationException refusal = new LockConfigurationException("refused", null);
    try (ZooKeeperBackend backend =
        (ZooKeeperBackend)
            new ZooKeeperProvider()
                .open(
                    LockUri.parse(Backends.uri(server) + "&sessionTimeout=20s"),
                    Backends.context(Backends.OPTIONS, lost::put))) {
      Claim bystander = Backends.claim("bystander of a waiter");
      Backends.take(backend, bystander);
      Claim waiter = Backends.claim("waited for", "host/1/test", Duration.ofSeconds(1));
      assertFalse(backend.endSession(waiter, Duration.ofMinutes(1), refusal), "it has no node");
      Backends.take(backend, waiter);
      assertTrue(backend.endSession(waiter, Duration.ofSeconds(19), refusal));
      assertEquals(Map.of(), lost);
      assertTrue(backend.endSession(waiter, Duration.ofSeconds(20), refusal));
      Eventually.holds("the session is ended", () -> lost.containsKey(bystander));
    }
  }

  @Test
  void aNodeInDoubtKeepsItsSessionAttachedAndARefusedOneDoesNot() throws Exception {
    try (ZooKeeperBackend backend = Backends.on(curator)) {
      Claim refused = Backends.claim("forbidden");
      Backends.take(backend, Backends.claim("forbidden"));
      observer.setACL().withACL(all(Perms.READ | Perms.ADMIN)).forPath("/interlock/forbidden");
      assertThrows(LockConfigurationException.class, () -> backend.join(refused, Backends.soon()));
      assertNull(refused.attachment());
      observer.setACL().withACL(all(Perms.ALL)).forPath("/interlock/forbidden");
      Claim inDoubt = Backends.claim("forbidden");
      try (Disturbance held = network.everywhere(way -> way.hold(Direction.SERVER_TO_CLIENT))) {
        Deadline brief = Deadline.in(Backends.TIME, Duration.ofMillis(300));
        assertThrows(LockUnavailableException.class, () -> backend.join(inDoubt, brief));
        assertTrue(inDoubt.attachment() instanceof Session);
      }
      Eventually.holds("it is there", () -> nodesOf("forbidden") == 2);
      assertTrue(backend.release(inDoubt, Backends.soon()));
      assertEquals(1, nodesOf("forbidden"));
    }
  }

  private static List<ACL> all(int permissions) {
    return List.of(new ACL(permissions, Ids.ANYONE_ID_UNSAFE));
  }

  @Test
  void anAttemptWhoseAnswerWasLostLeavesNoNode() throws Exception {
    try (LockClient client = client()) {
      client.lock("ghost").acquire().release();
      long session = curator.getZookeeperClient().getZooKeeper().getSessionId();
      try (Disturbance lost =
          network.everywhere(way -> way.blackHole(Direction.SERVER_TO_CLIENT))) {
        assertThrows(
            LockUnavailableException.class,
            () -> client.lock("ghost").tryAcquire(Duration.ofMillis(300)));
        Eventually.holds("the node was made", () -> nodesOf("ghost") > 0);
      } // the connection is reset now
      Eventually.holds("the node is gone", () -> nodesOf("ghost") == 0);
      assertEquals(session, curator.getZookeeperClient().getZooKeeper().getSessionId());
    }
  }

  @Test
  void aSilentConnectionIsReplacedBeforeTheLeaseIsLost() throws Exception {
    try (LockClient client = client()) {
      Lease lease = client.lock("silent").acquire();
      CompletableFuture<Boolean> renewed = new CompletableFuture<>();
      try (Disturbance silence = network.everywhere(FaultProxy::silenceOpenConnections)) {
        assertTrue(silence.awaitHit(Duration.ofSeconds(LIMIT_SECONDS)));
        lease.onEvent(
            event -> {
              if (event instanceof dev.interlock.LockEvent.Renewed) {
                renewed.complete(true);
              }
            });
        assertTrue(renewed.get(LIMIT_SECONDS, TimeUnit.SECONDS));
        assertTrue(lease.isHeld());
      }
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
    }
  }

  @Test
  void aServerThatAcceptsAndStaysSilentLosesNoLease() throws Exception {
    curator.close(); // the only connection is to be that of the client
    LockOptions options =
        LockOptions.builder()
            .ttl(Duration.ofSeconds(30))
            .requestTimeout(Duration.ofSeconds(5))
            .build();
    try (LockClient client = LockClient.open(network.uri() + "?tickTime=200ms", options)) {
      Lease lease = client.lock("unanswered").acquire();
      try (Disturbance mute =
          network.everywhere(way -> way.blackHole(Direction.SERVER_TO_CLIENT))) {
        network.reset();
        long before = mute.hits();
        // The handshake of each connection is swallowed.
        Eventually.holds("another two connections were tried", () -> mute.hits() > before + 1);
        assertTrue(lease.isHeld());
      }
      Eventually.holds("renewed", () -> isRenewed(lease));
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
    }
  }

  private static boolean isRenewed(Lease lease) throws InterruptedException {
    try {
      lease.renew();
      return true;
    } catch (LockUnavailableException e) {
      return false;
    }
  }

  /** The leader may have heard from the client longer ago than the monotonic clock says. */
  @Test
  void afterASuspensionEarlierContactDoesNotCount() throws Exception {
    AtomicLong slept = new AtomicLong();
    TimeSource clocks =
        new TimeSource() {
          @Override
          public long nanoTime() {
            return Backends.TIME.nanoTime();
          }

          @Override
          public long wallMillis() {
            return Backends.TIME.wallMillis() + slept.get();
          }

          @Override
          public void parkUntil(Object blocker, long nanos) {
            Backends.TIME.parkUntil(blocker, nanos);
          }
        };
    BackendContext context = Backends.context(Backends.OPTIONS, clocks, (claim, detail) -> {});
    try (LockBackend backend = ZooKeeperLocks.backend(curator, Backends.SETTINGS, context)) {
      Grant before = Backends.take(backend, Backends.claim("slept"));
      slept.set(Backends.TTL.toMillis() - 1_000);
      long wokenAt = Backends.TIME.nanoTime();
      Grant after = Backends.take(backend, Backends.claim("awake"));
      assertTrue(Backends.TIME.nanoTime() - wokenAt >= 2 * Backends.TICK.toNanos());
      assertTrue(
          assertInstanceOf(Renewal.Renewed.class, backend.renew(before, Backends.soon()))
                      .validUntil()
                  - wokenAt
              > 0);
      backend.release(before.claim(), Backends.soon());
      backend.release(after.claim(), Backends.soon());
    }
  }

  @Test
  void aGrantIsValidForTheSessionLessTheAgeOfTheLeadersLastContact() throws Exception {
    try (ZooKeeperBackend backend = Backends.on(curator)) {
      long before = Backends.TIME.nanoTime();
      Grant grant = Backends.take(backend, Backends.claim("certain"));
      long after = Backends.TIME.nanoTime();
      Duration certain = Backends.certain(Backends.TTL);
      assertEquals(certain, grant.validityPerConfirmation());
      assertFalse(grant.expiresOnStore());
      long confirmedAt = grant.validUntil() - certain.toNanos();
      assertTrue(after - confirmedAt >= 0);
      // The delay of a heartbeat is subtracted.
      assertTrue(confirmedAt - before >= -certain.toNanos() / 4);
    }
  }
}
