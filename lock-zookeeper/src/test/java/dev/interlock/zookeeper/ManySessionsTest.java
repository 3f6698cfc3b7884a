package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.summingInt;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.DelayedTasks;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.QueueingBackend.Place;
import dev.interlock.spi.Renewal;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.run.Proxies;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A client whose nodes need more than one session, as with thousands of leases. */
class ManySessionsTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  /** The bytes of a node of a lock whose name has one character. */
  private static final int NODE_BYTES = 4 + "/interlock/x/".length() + 27 + 1 + 11;

  @AutoClose private static ZooKeeperEnsemble server;

  private final Map<Claim, String> lost = new ConcurrentHashMap<>();

  @BeforeAll
  static void start() {
    server = Backends.server();
  }

  /** Opens a client whose sessions have room for only a few nodes. */
  private ZooKeeperBackend open(int nodes) {
    return open(nodes, Backends.uri(server));
  }

  private ZooKeeperBackend open(int nodes, String uri) {
    return (ZooKeeperBackend)
        new ZooKeeperProvider(nodes * NODE_BYTES)
            .open(LockUri.parse(uri), Backends.context(Backends.OPTIONS, lost::put));
  }

  private static Session sessionOf(Grant grant) {
    return ((QueueNode) grant.claim().attachment()).session();
  }

  private static Grant take(ZooKeeperBackend backend, String name) throws Exception {
    return Backends.take(backend, Backends.claim(name));
  }

  @Test
  void aNodeIsCreatedOnTheFirstSessionThatHasRoom() throws Exception {
    try (ZooKeeperBackend backend = open(2)) {
      Grant a = take(backend, "a");
      Grant b = take(backend, "b");
      Grant c = take(backend, "c");
      assertSame(sessionOf(a), sessionOf(b));
      assertNotSame(sessionOf(a), sessionOf(c));
      assertTrue(backend.release(a.claim(), Backends.soon()));
      Grant d = take(backend, "d");
      assertSame(sessionOf(b), sessionOf(d));
      assertTrue(backend.release(c.claim(), Backends.soon()));
      assertSame(sessionOf(c), sessionOf(take(backend, "e")));
      assertTrue(a.token() < b.token() && b.token() < c.token() && c.token() < d.token());
    }
  }

  @Test
  void aRefusedAttemptFreesItsRoom() throws Exception {
    try (ZooKeeperBackend other = open(1);
        ZooKeeperBackend backend = open(1)) {
      Grant grant = take(other, "h");
      Session session = sessionOf(take(backend, "a"));
      Claim waiter = Backends.claim("h");
      try (Place place = backend.join(waiter, Backends.soon())) {
        Session second = ((QueueNode) waiter.attachment()).session();
        assertNotSame(session, second);
        assertInstanceOf(
            Attempt.Busy.class, place.await(Deadline.in(Backends.TIME, Duration.ofMillis(1))));
        backend.release(waiter, Backends.soon());
        assertSame(second, sessionOf(take(backend, "b")));
      }
      other.release(grant.claim(), Backends.soon());
    }
  }

  @Test
  void theEndOfASessionLosesOnlyItsOwnLeases() throws Exception {
    try (ZooKeeperBackend backend = open(1)) {
      List<Grant> grants = List.of(take(backend, "a"), take(backend, "b"), take(backend, "c"));
      String id = server.endSession(1).orElseThrow();
      Grant ended = null;
      List<Grant> others = new ArrayList<>();
      for (Grant grant : grants) {
        if (Long.toHexString(sessionOf(grant).id()).equals(id)) {
          ended = grant;
        } else {
          others.add(grant);
        }
      }
      Claim claim = ended.claim();
      Eventually.holds("its loss is reported", () -> lost.containsKey(claim));
      assertEquals(1, lost.size());
      List<Renewal> renewals =
          backend.renewAll(List.of(others.get(0), ended, others.get(1)), Backends.soon());
      assertInstanceOf(Renewal.Renewed.class, renewals.get(0));
      assertEquals(
          LossReason.SESSION_ENDED, assertInstanceOf(Renewal.Lost.class, renewals.get(1)).reason());
      assertInstanceOf(Renewal.Renewed.class, renewals.get(2));
      // The next session has all its room.
      Grant next = take(backend, claim.name());
      assertSame(sessionOf(ended).sessions(), sessionOf(next).sessions());
      assertTrue(next.token() > ended.token());
    }
  }

  @Test
  void waitersOnDifferentSessionsAreServedInTheOrderOfTheirArrival() throws Exception {
    try (ZooKeeperBackend backend = open(1)) {
      Grant filler = take(backend, "f");
      Grant grant = take(backend, "h");
      Claim first = Backends.claim("h");
      Claim second = Backends.claim("h");
      try (Place earlier = backend.join(first, Backends.soon())) {
        assertTrue(backend.release(filler.claim(), Backends.soon()));
        try (Place later = backend.join(second, Backends.soon())) {
          // The one that came later is on the older session.
          assertSame(sessionOf(filler), ((QueueNode) second.attachment()).session());
          assertTrue(backend.release(grant.claim(), Backends.soon()));
          Grant one = Backends.granted(earlier.await(Backends.soon()));
          assertInstanceOf(
              Attempt.Busy.class, later.await(Deadline.in(Backends.TIME, Duration.ofMillis(1))));
          assertTrue(backend.release(first, Backends.soon()));
          Grant two = Backends.granted(later.await(Backends.soon()));
          assertTrue(grant.token() < one.token() && one.token() < two.token());
        }
      }
    }
  }

  @Test
  void aNodeThatAnotherClientDeletedFreesItsRoom() throws Exception {
    try (ZooKeeperBackend other = open(1);
        ZooKeeperBackend backend = open(1)) {
      Grant taken = take(backend, "t");
      assertTrue(other.forceRelease("t", Backends.soon()));
      assertInstanceOf(Renewal.Lost.class, backend.renew(taken, Backends.soon()));
      assertSame(sessionOf(taken), sessionOf(take(backend, "u")));
    }
  }

  @Test
  void anAttemptInDoubtKeepsItsRoomUntilItIsUndone() throws Exception {
    try (Network network = Proxies.network(server.uri(), 2181).orElseThrow();
        ZooKeeperBackend backend = open(1, network.uri() + "?tickTime=200ms")) {
      Grant before = take(backend, "z");
      assertTrue(backend.release(before.claim(), Backends.soon()));
      Claim doubtful = Backends.claim("d");
      try (Disturbance lost = network.everywhere(way -> way.loseReplies("/interlock/d/"))) {
        assertThrows(
            LockUnavailableException.class,
            () -> backend.join(doubtful, Deadline.in(Backends.TIME, Duration.ofSeconds(1))));
      }
      assertSame(sessionOf(before), doubtful.attachment());
      Grant other = takeOnceConnected(backend, "o");
      assertNotSame(sessionOf(before), sessionOf(other));
      backend.release(doubtful, Backends.soon());
      assertSame(sessionOf(before), sessionOf(take(backend, "p")));
    }
  }

  @Test
  void anOutageDoesNotBeginMoreSessions() throws Exception {
    try (Network network = Proxies.network(server.uri(), 2181).orElseThrow();
        ZooKeeperBackend backend = open(1, network.uri() + "?tickTime=200ms")) {
      Grant grant = take(backend, "h");
      try (Disturbance cut = network.cut()) {
        Eventually.holds("it notices", () -> !sessionOf(grant).sessions().isConnected());
        LockUnavailableException refusal =
            assertThrows(
                LockUnavailableException.class,
                () ->
                    backend.join(
                        Backends.claim("x"), Deadline.in(Backends.TIME, Duration.ofMillis(100))));
        assertTrue(refusal.getMessage().contains("there is no connection"));
      }
      assertNotSame(sessionOf(grant), sessionOf(takeOnceConnected(backend, "x")));
    }
  }

  @Test
  void closingEndsTheWaitForAConnection() throws Exception {
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try (Network network = Proxies.network(server.uri(), 2181).orElseThrow();
        ZooKeeperBackend backend = open(1, network.uri() + "?tickTime=200ms")) {
      // The node stays until the session ends, so no other test uses this name.
      Grant grant = take(backend, "w");
      try (Disturbance cut = network.cut()) {
        Eventually.holds("it notices", () -> !sessionOf(grant).sessions().isConnected());
        Deadline late = Deadline.in(Backends.TIME, Duration.ofHours(1));
        Future<Place> waiting = thread.submit(() -> backend.join(Backends.claim("x"), late));
        assertThrows(TimeoutException.class, () -> waiting.get(200, TimeUnit.MILLISECONDS));
        backend.close();
        assertThrows(ExecutionException.class, () -> waiting.get(1, TimeUnit.MINUTES));
      }
    } finally {
      thread.shutdownNow();
    }
  }

  /**
   * Requests during an outage must not fill the session: each would count until it was undone,
   * although it was never sent.
   */
  @Test
  void anOutageDoesNotFillTheSessionOfAProgramsFramework() throws Exception {
    try (Network network = Proxies.network(server.uri(), 2181).orElseThrow();
        CuratorFramework curator = Backends.curator(addresses(network));
        ZooKeeperBackend backend =
            new BackendOpener(
                    network.uri(),
                    AccessLists.of(curator),
                    Backends.SETTINGS,
                    Backends.context(Backends.OPTIONS),
                    2 * NODE_BYTES)
                .open(1, curator)) {
      Grant grant = take(backend, "h");
      try (Disturbance cut = network.cut()) {
        Eventually.holds("it notices", () -> !sessionOf(grant).sessions().isConnected());
        for (int i = 0; i < 3; i++) {
          assertThrows(
              LockUnavailableException.class,
              () ->
                  backend.join(
                      Backends.claim("x"), Deadline.in(Backends.TIME, Duration.ofMillis(50))));
        }
      }
    }
  }

  /** The driver fails the requests that wait for a connection as soon as one address has failed. */
  @Test
  void anotherSessionIsUsedWhenItHasAConnection() throws Exception {
    int unused;
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      unused = socket.getLocalPort();
    }
    String addresses = "127.0.0.1:" + unused + "," + server.connectString();
    try (ZooKeeperBackend backend = open(1, "zookeeper://" + addresses + "?tickTime=200ms")) {
      for (int i = 0; i < 12; i++) { // the order of the addresses is random
        take(backend, "" + (char) ('a' + i));
      }
    }
  }

  @Test
  void aSessionWithoutAConnectionDoesNotBlockTheOthers() throws Exception {
    try (Network network = Proxies.network(server.uri(), 2181).orElseThrow();
        CuratorFramework one = Backends.curator(addresses(network));
        CuratorFramework two = Backends.curator(server.connectString())) {
      SessionPool pool =
          new SessionPool(
              sessions(one),
              () -> sessions(two),
              new DelayedTasks("test"),
              new Failures(server.uri()));
      Claim claim = Backends.claim("a");
      Session first = pool.reserve(claim, Backends.soon());
      Claim other = Backends.claim("b");
      Session second = pool.reserve(other, Backends.soon());
      assertNotSame(first, second);
      first.forgetNode(claim);
      second.forgetNode(other);
      try (Disturbance cut = network.cut()) {
        Eventually.holds("it notices", () -> !first.sessions().isConnected());
        assertSame(second, pool.reserve(Backends.claim("c"), Backends.soon()));
      }
      pool.close();
    }
  }

  private static String addresses(Network network) {
    return network.uri().substring("zookeeper://".length());
  }

  private static Sessions sessions(CuratorFramework curator) {
    return new Sessions(
        curator,
        null,
        Backends.context(Backends.OPTIONS),
        new DelayedTasks("test"),
        new Failures("server"),
        Backends.SETTINGS,
        NODE_BYTES);
  }

  private static Grant takeOnceConnected(ZooKeeperBackend backend, String name) throws Exception {
    List<Grant> grants = new ArrayList<>();
    Eventually.holds(
        "granted",
        () -> {
          Claim claim = Backends.claim(name);
          try {
            return grants.add(Backends.take(backend, claim));
          } catch (LockUnavailableException e) {
            return false;
          }
        });
    return grants.get(0);
  }

  @Test
  void manyThreadsTogetherKeepEverySessionWithinItsLimitAndClosingEndsThemAll() throws Exception {
    int nodes = 20;
    int sessions = 6;
    try (ZooKeeperBackend backend = open(nodes)) {
      List<Callable<Grant>> tasks = new ArrayList<>();
      for (int i = 0; i < nodes * sessions; i++) {
        String name = Character.toString(0x400 + i); // letters of two bytes
        tasks.add(() -> take(backend, name));
      }
      ExecutorService threads = Executors.newFixedThreadPool(16);
      List<Grant> grants = new ArrayList<>();
      try {
        for (Future<Grant> each : threads.invokeAll(tasks)) {
          grants.add(each.get());
        }
      } finally {
        threads.shutdownNow();
      }
      Map<Session, Integer> bytes =
          grants.stream()
              .collect(groupingBy(ManySessionsTest::sessionOf, summingInt(g -> written(g, ""))));
      assertTrue(bytes.size() >= sessions);
      bytes.values().forEach(sum -> assertTrue(sum <= nodes * NODE_BYTES, () -> "bytes: " + sum));
    }
    Eventually.holds("the sessions end", () -> owners() == 0);
  }

  private static int written(Grant grant, String chroot) {
    QueueNode node = (QueueNode) grant.claim().attachment();
    return 4 + (chroot + node.path()).getBytes(UTF_8).length;
  }

  private static long owners() throws Exception {
    String dump = server.members().get(0).ask("dump");
    return dump.lines().filter(line -> line.matches("0x\\p{XDigit}+:")).count();
  }

  @Test
  void aNodeCountsWithTheChrootThatTheServersPutBeforeItsPath() throws Exception {
    try (CuratorFramework curator = Backends.curator(server.connectString())) {
      curator.create().forPath("/chroot");
    }
    String chroot = "/chroot";
    try (ZooKeeperBackend backend = open(10, server.uri() + chroot + "?tickTime=200ms")) {
      Grant grant = take(backend, "n");
      int counted = sessionOf(grant).sessions().nodeBytes(grant.claim());
      assertEquals(written(grant, chroot) + 1, counted); // a number may have a sign
    }
  }
}
