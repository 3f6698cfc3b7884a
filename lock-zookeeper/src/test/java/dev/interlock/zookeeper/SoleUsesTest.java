package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend.Place;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import dev.interlock.zookeeper.SoleUses.SoleUse;
import java.time.Duration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * When a client may skip the listing of the queue, and that it never assumes wrongly that it is
 * alone.
 */
class SoleUsesTest {

  private static final int USES = 20;

  @AutoClose private static ZooKeeperEnsemble server;
  @AutoClose private static CuratorFramework observer;

  private ZooKeeperBackend backend;
  private ZooKeeperBackend other;

  @BeforeAll
  static void start() {
    server = Backends.server();
    observer = Backends.curator(server.connectString());
  }

  @BeforeEach
  void connect() {
    backend = Backends.open(Backends.uri(server));
    other = Backends.open(Backends.uri(server));
  }

  @AfterEach
  void disconnect() {
    backend.close();
    other.close();
  }

  private static QueueNode node(int number, long czxid) {
    return new QueueNode(null, Backends.claim("x"), number, czxid, null);
  }

  @Test
  void onlyTheNextNumberProvesThatNoOtherNodeWasCreated() {
    SoleUse use = SoleUses.after(null, node(10, 100));
    assertTrue(use.proves(node(11, 102)));
    assertFalse(use.proves(node(12, 102)));
    assertFalse(use.proves(node(10, 102)));
    assertFalse(use.proves(node(0, 102)));
    assertFalse(use.proves(node(11, 99)));
  }

  /** The eleven nodes of a new parent would take at least eleven transactions. */
  @Test
  void enoughTransactionsInBetweenProveNothing() {
    SoleUse use = SoleUses.after(null, node(10, 100));
    assertTrue(use.proves(node(11, 110)));
    assertFalse(use.proves(node(11, 111)));
    assertFalse(SoleUses.after(null, node(0, 100)).proves(node(1, 101)));
  }

  @Test
  void thePreviousUsePredictsWhetherTheNextWillProve() {
    SoleUse first = SoleUses.after(null, node(10, 100));
    assertFalse(first.isLikelyToProve());
    assertTrue(SoleUses.after(first, node(11, 111)).isLikelyToProve());
    assertFalse(SoleUses.after(first, node(11, 112)).isLikelyToProve());
    assertFalse(SoleUses.after(first, node(12, 104)).isLikelyToProve());
  }

  @Test
  void aUseIsTakenOnlyOnce() {
    SoleUses uses = new SoleUses();
    SoleUse use = SoleUses.after(null, node(10, 100));
    uses.add("/interlock/x", use);
    assertEquals(use, uses.take("/interlock/x"));
    assertNull(uses.take("/interlock/x"));
  }

  private Claim takeAlone(String name) throws InterruptedException {
    Claim claim = Backends.claim(name);
    try (Place place = backend.join(claim, Backends.soon())) {
      Backends.granted(place.await(Backends.soon()));
    }
    return claim;
  }

  private void useAlone(String name) throws InterruptedException {
    for (int i = 0; i < USES; i++) {
      backend.release(takeAlone(name), Backends.soon());
    }
  }

  private static @Nullable SoleUse soleUse(Claim claim) {
    return ((QueueNode) claim.attachment()).soleUse();
  }

  @Test
  void aLockThatAnotherClientTookMeanwhileIsNotGranted() throws Exception {
    useAlone("taken");
    Grant grant = Backends.take(other, Backends.claim("taken"));
    Claim claim = Backends.claim("taken");
    try (Place place = backend.join(claim, Backends.soon())) {
      assertTrue(place.hasPredecessor());
      assertNull(soleUse(claim));
      assertInstanceOf(
          Attempt.Busy.class, place.await(Deadline.in(Backends.TIME, Duration.ofMillis(100))));
      other.release(grant.claim(), Backends.soon());
      assertTrue(Backends.granted(place.await(Backends.soon())).token() > grant.token());
    }
    backend.release(claim, Backends.soon());
  }

  /** The new parent's next number is the one that this client expects in the former parent. */
  @Test
  void aLockWhoseNodeWasRecreatedIsNotGrantedTwice() throws Exception {
    useAlone("anew");
    observer.delete().forPath("/interlock/anew");
    observer.create().withMode(CreateMode.CONTAINER).forPath("/interlock/anew");
    for (int i = 0; i < USES - 1; i++) {
      other.release(Backends.take(other, Backends.claim("anew")).claim(), Backends.soon());
    }
    Grant grant = Backends.take(other, Backends.claim("anew"));
    Claim claim = Backends.claim("anew");
    try (Place place = backend.join(claim, Backends.soon())) {
      assertEquals(USES, ((QueueNode) claim.attachment()).number());
      assertTrue(place.hasPredecessor());
    }
    backend.release(claim, Backends.soon());
    other.release(grant.claim(), Backends.soon());
  }

  /** Servers that are restored from a copy restart the numbers, and end the sessions. */
  @Test
  void theMemoryOfUsesEndsWithTheSession() throws Exception {
    try (CuratorFramework curator = Backends.curator(server.connectString())) {
      backend.close();
      backend =
          (ZooKeeperBackend)
              ZooKeeperLocks.backend(
                  curator, Backends.SETTINGS, Backends.context(Backends.OPTIONS));
      useAlone("session");
      assertNotNull(remembered("session"));
      Backends.expire(curator, server.connectString());
      Eventually.holds("a new session", this::isUsable);
      assertNull(remembered("session"));
      backend.close();
    }
  }

  private boolean isUsable() throws InterruptedException {
    try {
      backend.release(takeAlone("usable"), Backends.soon());
      return true;
    } catch (LockUnavailableException e) {
      return false;
    }
  }

  /** Uses the lock, and returns the previous use that the client remembered. */
  private @Nullable SoleUse remembered(String name) throws InterruptedException {
    Claim claim = takeAlone(name);
    SoleUse use = soleUse(claim);
    backend.release(claim, Backends.soon());
    return use == null || use.distance() == Long.MAX_VALUE ? null : use;
  }

  @Test
  void aForeignNodeIsStillSeen() throws Exception {
    useAlone("foreign");
    observer.create().forPath("/interlock/foreign/somebody");
    Claim claim = Backends.claim("foreign");
    try {
      assertThrows(LockConfigurationException.class, () -> backend.join(claim, Backends.soon()));
    } finally {
      observer.delete().forPath("/interlock/foreign/somebody");
      backend.release(claim, Backends.soon());
    }
  }

  @Test
  void aLockThatOneClientUsesIsAcquiredByOneRequest() throws Exception {
    useAlone("counted");
    long before = packets();
    useAlone("counted");
    // Each use costs a creation and a deletion; the rest are heartbeats and this test's own
    // requests.
    long packets = packets() - before;
    assertTrue(packets < 2 * USES + USES / 2, () -> packets + " packets");
  }

  private static long packets() throws Exception {
    return server
        .members()
        .get(0)
        .ask("mntr")
        .lines()
        .filter(line -> line.startsWith("zk_packets_received\t"))
        .map(line -> line.substring("zk_packets_received\t".length()))
        .mapToLong(Long::parseLong)
        .findFirst()
        .orElseThrow();
  }
}
