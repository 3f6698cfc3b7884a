package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockKind;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend.Place;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.NoNodeException;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Readers, writers and permits in one lock's queue. */
class SharesTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final Share EXCLUSIVE = Share.EXCLUSIVE;
  private static final Share READ = Share.READ;
  private static final Share WRITE = Share.WRITE;

  /** The interval at which a waiter polls without an event. */
  private static final Duration POLL = Duration.ofMillis(200);

  @AutoClose private static ZooKeeperEnsemble server;
  @AutoClose private static CuratorFramework observer;

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private int asked;
  private String name;
  private ZooKeeperBackend one;
  private ZooKeeperBackend two;

  @BeforeAll
  static void start() {
    server = Testbed.zookeeper().withoutSync().tick(Backends.TICK).start();
    observer = Backends.curator(server.connectString());
  }

  @BeforeEach
  void connect(TestInfo test) {
    name = test.getTestMethod().orElseThrow().getName();
    one = Backends.open(Backends.uri(server));
    two = Backends.open(Backends.uri(server));
  }

  @AfterEach
  void disconnect() {
    threads.shutdownNow();
    one.close();
    two.close();
  }

  private static Share permits(int permits, int limit) {
    return Share.ofSemaphore(permits, limit);
  }

  private Claim claim(Share share) {
    return Backends.claim(name, share);
  }

  private Grant take(ZooKeeperBackend backend, Share share) throws InterruptedException {
    return Backends.take(backend, claim(share));
  }

  private static void release(ZooKeeperBackend backend, Grant grant) throws InterruptedException {
    assertTrue(backend.release(grant.claim(), Backends.soon()));
  }

  private Attempt tryTake(ZooKeeperBackend backend, Share share) throws InterruptedException {
    return backend.tryAcquire(claim(share), Backends.soon());
  }

  private void assertBusy(ZooKeeperBackend backend, Share share) throws InterruptedException {
    assertInstanceOf(Attempt.Busy.class, tryTake(backend, share));
  }

  /** A claim that has joined the queue, and the thread that waits for it. */
  private final class Waiter implements AutoCloseable {
    final ZooKeeperBackend backend;
    final Claim claim;
    final Place place;
    final Future<Grant> grant;

    Waiter(ZooKeeperBackend backend, Share share) throws InterruptedException {
      this.backend = backend;
      this.claim = claim(share);
      this.place = backend.join(claim, Backends.soon());
      this.grant = threads.submit(() -> Backends.granted(place.await(Backends.soon())));
    }

    Grant granted() throws Exception {
      Grant granted = grant.get(60, SECONDS);
      place.close();
      return granted;
    }

    void leave() throws InterruptedException {
      place.close();
      assertTrue(backend.release(claim, Backends.soon()));
    }

    @Override
    public void close() throws InterruptedException {
      place.close();
      backend.release(claim, Backends.soon());
    }
  }

  /** Asserts the numbers of holders and waiters in the queue on the server. */
  private void assertHolders(int holders, int waiters) throws InterruptedException {
    LockState state = one.inspect(name, Backends.soon());
    assertEquals(holders, state.holders().size(), state::toString);
    assertEquals(waiters, state.waiters().size(), state::toString);
  }

  private List<String> nodes() throws Exception {
    try {
      return observer.getChildren().forPath(LockPaths.of("/interlock", name));
    } catch (NoNodeException e) {
      return List.of();
    }
  }

  private static LockOptions looking() {
    return Backends.OPTIONS.toBuilder().pollInterval(POLL).build();
  }

  private static ZooKeeperBackend looking(CuratorFramework curator) {
    return (ZooKeeperBackend)
        ZooKeeperLocks.backend(curator, Backends.SETTINGS, Backends.context(looking()));
  }

  // --- who holds together ---------------------------------------------------------------------

  @Test
  void readersHoldTogetherAndExcludeTheWriter() throws Exception {
    Grant first = take(one, READ);
    Grant second = take(two, READ);
    Grant third = take(two, READ);
    assertHolders(3, 0);
    assertBusy(one, WRITE);
    release(two, second);
    release(one, first);
    assertBusy(one, WRITE);
    release(two, third);
    Grant writer = take(one, WRITE);
    assertBusy(two, READ);
    assertBusy(two, WRITE);
    release(one, writer);
    assertEquals(List.of(), nodes());
  }

  @Test
  void permitsAreGrantedByTheirWeightsUntilNoneIsLeft() throws Exception {
    Grant three = take(one, permits(3, 5));
    assertBusy(two, permits(3, 5));
    assertBusy(two, permits(5, 5));
    Grant two2 = take(two, permits(2, 5));
    assertBusy(one, permits(1, 5));
    release(one, three);
    assertBusy(one, permits(4, 5));
    Grant one1 = take(one, permits(1, 5));
    assertHolders(2, 0);
    release(two, two2);
    release(one, one1);
    release(two, take(two, permits(5, 5)));
    assertEquals(List.of(), nodes());
  }

  @Test
  void tokensRiseWithEveryGrantAlsoOfThoseThatHoldTogether() throws Exception {
    List<Grant> grants = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      grants.add(take(i % 2 == 0 ? one : two, READ));
    }
    try (Waiter writer = new Waiter(two, WRITE);
        Waiter reader = new Waiter(one, READ)) {
      for (int i = 0; i < 5; i++) {
        release(i % 2 == 0 ? one : two, grants.get(i));
      }
      grants.add(writer.granted());
      release(two, grants.get(5));
      grants.add(reader.granted());
      release(one, grants.get(6));
      grants.add(take(two, EXCLUSIVE));
      release(two, grants.get(7));
    }
    List<Long> tokens = grants.stream().map(Grant::token).toList();
    assertEquals(tokens.stream().sorted().distinct().toList(), tokens);
  }

  @Test
  void eachGrantIsRenewedAloneAndAllOfThemInOneRequest() throws Exception {
    Grant first = take(one, READ);
    Grant second = take(one, READ);
    Grant permit = Backends.take(one, Backends.claim(name + "-permits", permits(1, 2)));
    Grant whole = Backends.take(one, Backends.claim(name + "-exclusive"));
    observer.delete().forPath(((QueueNode) second.claim().attachment()).path());
    List<Renewal> renewals = one.renewAll(List.of(first, second, permit, whole), Backends.soon());
    assertInstanceOf(Renewal.Renewed.class, renewals.get(0));
    assertInstanceOf(Renewal.Lost.class, renewals.get(1));
    assertInstanceOf(Renewal.Renewed.class, renewals.get(2));
    assertInstanceOf(Renewal.Renewed.class, renewals.get(3));
  }

  // --- the order ------------------------------------------------------------------------------

  @Test
  void aReaderBehindAWaitingWriterWaitsAndIsServedAfterIt() throws Exception {
    Grant reader = take(one, READ);
    try (Waiter writer = new Waiter(two, WRITE);
        Waiter later = new Waiter(one, READ);
        Waiter last = new Waiter(two, READ)) {
      assertBusy(one, READ);
      assertHolders(1, 3);
      release(one, reader);
      Grant written = writer.granted();
      assertHolders(1, 2);
      assertFalse(later.grant.isDone());
      release(two, written);
      later.granted();
      last.granted();
      assertHolders(2, 0);
    }
  }

  @Test
  void aWriterThatLeavesLetsTheReadersBehindItIn() throws Exception {
    Grant reader = take(one, READ);
    try (Waiter writer = new Waiter(two, WRITE);
        Waiter later = new Waiter(one, READ);
        Waiter last = new Waiter(one, READ)) {
      writer.leave();
      later.granted();
      last.granted();
      assertHolders(3, 0);
      release(one, reader);
    }
  }

  @Test
  void aReaderBehindTwoWritersWaitsForTheOtherWhenTheNearerLeaves() throws Exception {
    Grant reader = take(one, READ);
    try (Waiter first = new Waiter(two, WRITE);
        Waiter second = new Waiter(two, WRITE);
        Waiter later = new Waiter(one, READ)) {
      second.leave();
      assertHolders(1, 2);
      release(one, reader);
      Grant written = first.granted();
      assertFalse(later.grant.isDone());
      assertHolders(1, 1);
      release(two, written);
      later.granted();
    }
  }

  @Test
  void aWriterWaitsForAllReadersInWhateverOrderTheyLeave() throws Exception {
    List<Grant> readers = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      readers.add(take(one, READ));
    }
    try (Waiter writer = new Waiter(two, WRITE)) {
      for (int last : List.of(3, 0, 2)) {
        release(one, readers.get(last));
        assertFalse(writer.grant.isDone());
      }
      assertHolders(1, 1);
      release(one, readers.get(1));
      writer.granted();
    }
  }

  @Test
  void aRequestForOnePermitWaitsBehindOneForThree() throws Exception {
    Grant grant = take(one, permits(2, 4));
    try (Waiter three = new Waiter(two, permits(3, 4));
        Waiter single = new Waiter(one, permits(1, 4))) {
      assertBusy(two, permits(1, 4));
      assertHolders(1, 2);
      release(one, grant);
      three.granted();
      single.granted();
      assertHolders(2, 0);
    }
  }

  @Test
  void twoPermitsReleasedTogetherServeTwoWaiters() throws Exception {
    Grant a = take(one, permits(1, 3));
    Grant b = take(one, permits(1, 3));
    Grant c = take(two, permits(1, 3));
    try (Waiter first = new Waiter(two, permits(1, 3));
        Waiter second = new Waiter(one, permits(1, 3));
        Waiter third = new Waiter(two, permits(1, 3))) {
      observer
          .transaction()
          .forOperations(
              observer.transactionOp().delete().forPath(path(a)),
              observer.transactionOp().delete().forPath(path(b)));
      first.granted();
      second.granted();
      assertHolders(3, 1);
      release(two, c);
      third.granted();
    }
  }

  private static String path(Grant grant) {
    return ((QueueNode) grant.claim().attachment()).path();
  }

  @Test
  void oneLargeReleaseServesAllThatFitAndNoMore() throws Exception {
    Grant grant = take(one, permits(5, 5));
    try (Waiter first = new Waiter(two, permits(2, 5));
        Waiter second = new Waiter(one, permits(1, 5));
        Waiter third = new Waiter(two, permits(2, 5));
        Waiter fourth = new Waiter(one, permits(1, 5))) {
      release(one, grant);
      first.granted();
      Grant single = second.granted();
      third.granted();
      assertHolders(3, 1);
      assertFalse(fourth.grant.isDone());
      release(one, single);
      fourth.granted();
    }
  }

  @Test
  void waitersThatLeaveFromTheMiddleLetTheOthersBeServedInTheirOrder() throws Exception {
    Grant heldGrant = take(one, permits(2, 2));
    List<Waiter> waiters = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      waiters.add(new Waiter(i % 2 == 0 ? two : one, permits(1 + i % 2, 2)));
    }
    for (int index : List.of(3, 4, 0)) {
      waiters.get(index).leave();
    }
    List<Waiter> rest = new ArrayList<>();
    for (int i : List.of(1, 2, 5, 6, 7)) {
      rest.add(waiters.get(i));
    }
    release(one, heldGrant);
    while (!rest.isEmpty()) {
      Waiter served = rest.remove(0);
      Grant grant = served.granted();
      rest.forEach(later -> assertFalse(later.grant.isDone()));
      release(served.backend, grant);
    }
    assertEquals(List.of(), nodes());
  }

  // --- sessions and faults --------------------------------------------------------------------

  @Test
  void anEndedSessionFreesItsSharesAndReportsAllItsGrantsLost() throws Exception {
    Set<String> lost = ConcurrentHashMap.newKeySet();
    try (CuratorFramework curator = Backends.curator(server.connectString());
        ZooKeeperBackend dying =
            (ZooKeeperBackend)
                ZooKeeperLocks.backend(
                    curator,
                    Backends.SETTINGS,
                    Backends.context(Backends.OPTIONS, (claim, detail) -> lost.add(claim.id())))) {
      Grant first = take(dying, permits(1, 2));
      Grant second = take(dying, permits(1, 2));
      Grant reader = Backends.take(dying, Backends.claim(name + "-read", READ));
      Claim writer = Backends.claim(name + "-read", WRITE);
      try (Waiter single = new Waiter(one, permits(1, 2));
          Waiter another = new Waiter(two, permits(1, 2));
          Place writing = one.join(writer, Backends.soon())) {
        Backends.expire(curator, server.connectString());
        single.granted();
        another.granted();
        Backends.granted(writing.await(Backends.soon()));
        Eventually.holds("all are reported", () -> lost.size() == 3);
        assertEquals(Set.of(first.claim().id(), second.claim().id(), reader.claim().id()), lost);
      }
      one.release(writer, Backends.soon());
    }
  }

  @Test
  void theEndOfAWaitersSessionLetsTheOthersPass() throws Exception {
    Grant grant = take(one, permits(1, 2));
    try (CuratorFramework curator = Backends.curator(server.connectString());
        ZooKeeperBackend dying = Backends.on(curator)) {
      Place unused = dying.join(claim(permits(2, 2)), Backends.soon());
      try (Waiter single = new Waiter(two, permits(1, 2))) {
        assertBusy(one, permits(1, 2));
        Backends.expire(curator, server.connectString());
        single.granted();
        assertHolders(2, 0);
      }
      unused.close();
    }
    release(one, grant);
  }

  /** The granted client has stopped, or its program lends no thread to its place. */
  @Test
  void aWaiterWhoseGrantIsNeverAnnouncedKeepsNobodyWaitingForLong() throws Exception {
    Grant a = take(one, permits(1, 2));
    Grant b = take(one, permits(1, 2));
    String silent = raw("1of2-");
    try (CuratorFramework curator = Backends.curator(server.connectString());
        ZooKeeperBackend patient = looking(curator);
        Waiter behind = new Waiter(patient, permits(1, 2))) {
      release(one, a);
      Eventually.holds(
          "it is granted", () -> one.inspect(name, Backends.soon()).waiters().size() == 1);
      assertFalse(behind.grant.isDone());
      release(one, b);
      behind.granted();
      assertHolders(2, 0);
    }
    observer.delete().forPath(silent);
  }

  @Test
  void frequentWakeUpsDoNotPostponeThePoll() throws Exception {
    Grant a = take(one, permits(1, 2));
    Grant b = take(one, permits(1, 2));
    String silent = raw("1of2-");
    try (CuratorFramework curator = Backends.curator(server.connectString());
        ZooKeeperBackend patient = looking(curator)) {
      Claim claim = claim(permits(1, 2));
      try (Place behind = patient.join(claim, Backends.soon())) {
        release(one, a);
        release(one, b);
        Deadline limit = Backends.soon();
        Attempt attempt;
        do {
          attempt = behind.await(Deadline.in(Backends.TIME, POLL.dividedBy(8)));
        } while (attempt instanceof Attempt.Busy && !limit.hasPassed());
        Backends.granted(attempt);
      }
      patient.release(claim, Backends.soon());
    }
    observer.delete().forPath(silent);
  }

  /** Creates the node of another client, which does nothing. */
  private String raw(String infix) throws Exception {
    return observer
        .create()
        .withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
        .forPath(LockPaths.of("/interlock", name) + "/" + Backends.id() + "-" + infix);
  }

  @Test
  void aGrantThatMayNotBeAnnouncedKeepsNobodyWaitingForLong() throws Exception {
    List<ACL> noWrite =
        List.of(new ACL(Perms.READ | Perms.CREATE | Perms.DELETE, Ids.ANYONE_ID_UNSAFE));
    try (CuratorFramework curator =
            CuratorFrameworkFactory.builder()
                .connectString(server.connectString())
                .zkClientConfig(Backends.withoutSasl())
                .aclProvider(
                    new ACLProvider() {
                      @Override
                      public List<ACL> getDefaultAcl() {
                        return noWrite;
                      }

                      @Override
                      public List<ACL> getAclForPath(String path) {
                        return noWrite;
                      }
                    })
                .retryPolicy((count, elapsed, sleeper) -> false)
                .build();
        CuratorFramework other = Backends.curator(server.connectString())) {
      curator.start();
      try (ZooKeeperBackend refused = looking(curator);
          ZooKeeperBackend patient = looking(other)) {
        Grant grant = take(one, permits(2, 2));
        try (Waiter first = new Waiter(refused, permits(1, 2));
            Waiter second = new Waiter(patient, permits(1, 2))) {
          release(one, grant);
          first.granted();
          second.granted();
          assertEquals(
              0,
              observer
                  .checkExists()
                  .forPath(((QueueNode) first.claim.attachment()).path())
                  .getVersion());
        }
      }
    }
  }

  @Test
  void anAnnouncementWhoseConnectionBreaksIsRepeated() throws Exception {
    try (FaultProxy way = FaultProxy.to("127.0.0.1", port());
        CuratorFramework curator = Backends.curator("127.0.0.1:" + way.port());
        ZooKeeperBackend far = Backends.on(curator)) {
      Grant grant = take(far, permits(1, 2));
      QueueNode node = (QueueNode) grant.claim().attachment();
      try (NetworkFault silence = way.hold(Direction.CLIENT_TO_SERVER)) {
        far.announceGrant(grant.claim(), node);
        assertEquals(0, observer.checkExists().forPath(node.path()).getVersion());
        way.reset();
      }
      Eventually.holds(
          "it is repeated", () -> observer.checkExists().forPath(node.path()).getVersion() > 0);
      assertEquals("host/1/test", new String(observer.getData().forPath(node.path()), UTF_8));
      release(far, grant);
    }
  }

  private static int port() {
    String address = server.connectString();
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  /** CURATOR-835: a permit whose creation was not answered must not stay taken. */
  @Test
  void aPermitWhoseReplyWasLostIsReleased() throws Exception {
    try (FaultProxy way = FaultProxy.to("127.0.0.1", port());
        CuratorFramework curator = Backends.curator("127.0.0.1:" + way.port());
        ZooKeeperBackend far = Backends.on(curator)) {
      release(far, take(far, permits(1, 1)));
      Claim doubtful = claim(permits(1, 1));
      try (NetworkFault lost = way.hold(Direction.SERVER_TO_CLIENT)) {
        Deadline brief = Deadline.in(Backends.TIME, Duration.ofMillis(500));
        assertThrows(LockUnavailableException.class, () -> far.join(doubtful, brief));
        Eventually.holds("the node was made", () -> nodes().size() == 1);
      }
      assertTrue(far.release(doubtful, Backends.soon()));
      assertEquals(List.of(), nodes());
    }
  }

  static Stream<Arguments> waits() {
    return Stream.of(
        Arguments.of(EXCLUSIVE, EXCLUSIVE),
        Arguments.of(READ, WRITE),
        Arguments.of(WRITE, READ),
        Arguments.of(permits(2, 2), permits(1, 2)));
  }

  /** The late reply says that the holder is gone, so no event follows. */
  @ParameterizedTest
  @MethodSource("waits")
  void aWatchWhoseReplyCameTooLateIsRequestedAgain(Share held, Share waiting) throws Exception {
    name = "late-" + held + waiting;
    try (FaultProxy way = FaultProxy.to("127.0.0.1", port());
        CuratorFramework curator = Backends.curator("127.0.0.1:" + way.port());
        ZooKeeperBackend far = Backends.on(curator)) {
      Grant holder = take(one, held);
      Claim waiter = claim(waiting);
      try (Place place = far.join(waiter, Backends.soon())) {
        try (NetworkFault silence = way.hold(Direction.SERVER_TO_CLIENT)) {
          release(one, holder);
          Deadline brief = Deadline.in(Backends.TIME, POLL);
          assertInstanceOf(Attempt.Busy.class, place.await(brief));
        }
        Backends.granted(place.await(Backends.soon()));
      }
      assertTrue(far.release(waiter, Backends.soon()));
    }
  }

  /** The servers keep one watch for both readers, and end it for both. */
  @Test
  void aReaderThatLeavesEndsNoWatchOfAnotherInItsSession() throws Exception {
    Grant writer = take(two, WRITE);
    Claim leaving = claim(READ);
    Claim staying = claim(READ);
    try (Place leaves = one.join(leaving, Backends.soon());
        Place stays = one.join(staying, Backends.soon())) {
      for (Place place : List.of(leaves, stays)) {
        Eventually.holds("it watches", () -> "host/1/test".equals(holderAfterWaiting(place)));
      }
      leaves.close();
      assertTrue(one.release(leaving, Backends.soon()));
      assertEquals(1, watches());
      release(two, writer);
      Backends.granted(stays.await(Backends.soon()));
      Eventually.holds("no watch", () -> watches() == 0);
    }
    assertTrue(one.release(staying, Backends.soon()));
  }

  private static @Nullable String holderAfterWaiting(Place place) throws InterruptedException {
    Deadline deadline = Deadline.in(Backends.TIME, Duration.ofMillis(300));
    return ((Attempt.Busy) place.await(deadline)).holder();
  }

  /** Returns the number of watched nodes in the lock's queue. */
  private long watches() throws Exception {
    String lock = LockPaths.of("/interlock", name);
    asked++;
    return server
        .members()
        .get(0)
        .ask("wchp")
        .lines()
        .filter(line -> line.equals(lock) || line.startsWith(lock + "/"))
        .count();
  }

  // --- disagreement ---------------------------------------------------------------------------

  static Stream<Arguments> disagreements() {
    List<Share> shares =
        List.of(EXCLUSIVE, READ, WRITE, permits(1, 1), permits(1, 2), permits(2, 2), permits(1, 3));
    return shares.stream()
        .flatMap(
            present ->
                shares.stream()
                    .filter(share -> !share.agreesWith(present))
                    .map(share -> Arguments.of(present, share)));
  }

  @ParameterizedTest
  @MethodSource("disagreements")
  void aNameIsOfOneKindAndCapacityWhileItIsInUse(Share present, Share share) throws Exception {
    name = "kinds-" + present + share;
    Grant grant = take(one, present);
    List<String> before = nodes();
    for (ZooKeeperBackend backend : List.of(one, two)) {
      LockConfigurationException tried =
          assertThrows(LockConfigurationException.class, () -> tryTake(backend, share));
      assertEquals(share.disagreement(name, present).getMessage(), tried.getMessage());
      Claim joining = claim(share);
      LockConfigurationException joined =
          assertThrows(
              LockConfigurationException.class, () -> backend.join(joining, Backends.soon()));
      assertEquals(share.disagreement(name, present).getMessage(), joined.getMessage());
      assertEquals(before, nodes());
      assertNull(joining.attachment());
      assertFalse(backend.release(joining, Backends.soon()));
    }
    assertInstanceOf(Renewal.Renewed.class, one.renew(grant, Backends.soon()));
    release(one, grant);
    release(two, take(two, share));
  }

  @Test
  void ofTwoClaimsThatDisagreeTheLaterIsRefused() throws Exception {
    for (int round = 0; round < 60; round++) {
      Share other = List.of(READ, WRITE, permits(1, 2)).get(round % 3);
      CyclicBarrier together = new CyclicBarrier(2);
      Claim firstClaim = claim(EXCLUSIVE);
      Claim theirs = claim(other);
      Future<Grant> first = threads.submit(() -> joined(one, firstClaim, together));
      Future<Grant> second = threads.submit(() -> joined(two, theirs, together));
      List<Grant> granted = new ArrayList<>();
      List<Throwable> refused = new ArrayList<>();
      for (Future<Grant> each : List.of(first, second)) {
        try {
          granted.add(each.get(60, SECONDS));
        } catch (ExecutionException e) {
          refused.add(assertInstanceOf(LockConfigurationException.class, e.getCause()));
        }
      }
      assertEquals(1, granted.size(), () -> "refused: " + refused);
      assertEquals(1, nodes().size());
      Grant winner = granted.get(0);
      release(winner.claim() == firstClaim ? one : two, winner);
    }
  }

  private static Grant joined(ZooKeeperBackend backend, Claim claim, CyclicBarrier together)
      throws Exception {
    together.await(60, SECONDS);
    try (Place place = backend.join(claim, Backends.soon())) {
      return Backends.granted(place.await(Backends.soon()));
    }
  }

  /** A refused node waits for its removal by its client, which may be slow. */
  @Test
  void aNodeThatDisagreesWithTheFirstRefusesNobodyButIsWaitedFor() throws Exception {
    Grant reader = take(one, READ);
    String slow = raw("");
    try (Waiter behind = new Waiter(two, READ)) {
      assertHolders(1, 2);
      assertFalse(behind.grant.isDone());
      observer.delete().forPath(slow);
      behind.granted();
      assertHolders(2, 0);
    }
    release(one, reader);
  }

  /**
   * A refused node refuses nobody even when the nodes ahead are gone, because its client has seen
   * them.
   */
  @Test
  void aRefusedNodeThatBecomesTheFirstRefusesNoEarlierClaim() throws Exception {
    Grant writer = take(one, WRITE);
    try (FaultProxy way = FaultProxy.to("127.0.0.1", port());
        CuratorFramework slow = Backends.curator("127.0.0.1:" + way.port());
        ZooKeeperBackend far = Backends.on(slow);
        CuratorFramework curator = Backends.curator(server.connectString());
        ZooKeeperBackend patient = looking(curator)) {
      assertTrue(far.inspect(name, Backends.soon()).isHeld());
      Future<Place> joining;
      Future<Grant> waiting;
      try (NetworkFault late = way.hold(Direction.SERVER_TO_CLIENT)) {
        joining = threads.submit(() -> far.join(claim(EXCLUSIVE), Backends.soon()));
        Eventually.holds("its node is there", () -> nodes().size() == 2);
        Waiter behind = new Waiter(patient, READ);
        waiting = behind.grant;
        release(one, writer);
        assertThrows(TimeoutException.class, () -> waiting.get(POLL.toMillis() * 5, MILLISECONDS));
      }
      ExecutionException refusal =
          assertThrows(ExecutionException.class, () -> joining.get(60, SECONDS));
      assertInstanceOf(LockConfigurationException.class, refusal.getCause());
      release(patient, waiting.get(60, SECONDS));
    }
  }

  /**
   * If the client of the new first node saw that it was the first, it holds the lock, and the
   * others wait for it.
   */
  @Test
  void aNodeThatBecomesTheFirstIsWaitedForByThoseBehindItAndRefusesThoseThatCome()
      throws Exception {
    Grant reader = take(one, READ);
    String slow = raw("");
    try (CuratorFramework curator = Backends.curator(server.connectString());
        ZooKeeperBackend patient = looking(curator);
        Waiter behind = new Waiter(patient, READ)) {
      release(one, reader);
      assertThrows(LockConfigurationException.class, () -> tryTake(two, READ));
      assertFalse(behind.grant.isDone());
      observer.delete().forPath(slow);
      behind.granted();
    }
  }

  // --- showing and intervening ----------------------------------------------------------------

  @Test
  void allHoldersAndWaitersAreShownWithTheirWeights() throws Exception {
    Grant ann = Backends.take(one, Backends.claim(name, "ann", permits(2, 5)));
    Grant bob = Backends.take(two, Backends.claim(name, "bob", permits(3, 5)));
    LockState state = one.inspect(name, Backends.soon());
    assertEquals(LockKind.SEMAPHORE, state.kind().orElseThrow());
    assertEquals(OptionalInt.of(5), state.limit());
    assertEquals(List.of("ann", "bob"), labels(state));
    assertEquals(
        List.of(2, 3), state.holders().stream().map(holder -> holder.permits().orElse(0)).toList());
    assertEquals(
        List.of(ann.token(), bob.token()),
        state.holders().stream().map(holder -> holder.fencingToken().orElseThrow()).toList());
    // It joined last, and nothing has changed since: so it was granted at once.
    assertTrue(state.holders().get(1).heldSince().isPresent());
    Claim waiter = Backends.claim(name, "cid", permits(3, 5));
    Place waiting = two.join(waiter, Backends.soon());
    state = one.inspect(name, Backends.soon());
    assertEquals(List.of("ann", "bob"), labels(state));
    assertEquals(List.of("cid"), state.waiters());
    LockState listed = one.list(name, null, 10, Backends.soon()).locks().get(0);
    assertEquals(List.of("ann", "bob"), labels(listed));
    assertEquals(LockKind.SEMAPHORE, listed.kind().orElseThrow());
    release(one, ann);
    state = one.inspect(name, Backends.soon());
    assertEquals(List.of("bob"), labels(state));
    assertEquals(List.of("cid"), state.waiters());
    assertTrue(state.heldSince().isEmpty());
    waiting.close();
    two.release(waiter, Backends.soon());
    release(two, bob);
    assertFalse(one.inspect(name, Backends.soon()).isHeld());
  }

  private static List<String> labels(LockState state) {
    return state.holders().stream().map(holder -> holder.label().orElseThrow()).toList();
  }

  @Test
  void aReadWriteLockIsShownWithItsReaders() throws Exception {
    Backends.take(one, Backends.claim(name, "ann", READ));
    Backends.take(two, Backends.claim(name, "bob", READ));
    two.join(Backends.claim(name, "cid", WRITE), Backends.soon()).close();
    two.join(Backends.claim(name, "dan", READ), Backends.soon()).close();
    LockState state = one.inspect(name, Backends.soon());
    assertEquals(LockKind.READ_WRITE, state.kind().orElseThrow());
    assertEquals(List.of("ann", "bob"), labels(state));
    assertEquals(List.of("cid", "dan"), state.waiters());
  }

  @Test
  void aForcedReleaseTakesNoLongerForManyHoldersThanForOne() throws Exception {
    try (FaultProxy way = FaultProxy.to("127.0.0.1", port());
        CuratorFramework curator = Backends.curator("127.0.0.1:" + way.port());
        ZooKeeperBackend far = Backends.on(curator)) {
      for (int i = 0; i < 50; i++) {
        take(one, permits(1, 100));
      }
      assertTrue(far.inspect(name, Backends.soon()).isHeld());
      try (NetworkFault slow = way.delay(Direction.SERVER_TO_CLIENT, Duration.ofMillis(300))) {
        Deadline brief = Deadline.in(Backends.TIME, Duration.ofSeconds(10));
        assertTrue(far.forceRelease(name, brief));
      }
      assertEquals(List.of(), nodes());
    }
  }

  @Test
  void aForcedReleaseEndsAllHoldersAndNoWaiter() throws Exception {
    Grant first = take(one, READ);
    Grant second = take(two, READ);
    try (Waiter writer = new Waiter(two, WRITE)) {
      assertTrue(one.forceRelease(name, Backends.soon()));
      Grant written = writer.granted();
      assertTrue(written.token() > second.token());
      assertInstanceOf(Renewal.Lost.class, one.renew(first, Backends.soon()));
      assertInstanceOf(Renewal.Lost.class, two.renew(second, Backends.soon()));
      assertInstanceOf(Renewal.Renewed.class, two.renew(written, Backends.soon()));
    }
    assertFalse(one.forceRelease(name, Backends.soon()));
  }

  // --- what it costs --------------------------------------------------------------------------

  private long statistic(String name) throws Exception {
    asked++;
    return server
        .members()
        .get(0)
        .ask("mntr")
        .lines()
        .filter(line -> line.startsWith(name + "\t"))
        .mapToLong(line -> Long.parseLong(line.substring(line.indexOf('\t') + 1)))
        .findFirst()
        .orElseThrow();
  }

  /** Returns the number of packets that the server has received, without those of this call. */
  private long packets() throws Exception {
    return statistic("zk_packets_received") - asked;
  }

  private List<Waiter> crowd(int size, Share share) throws InterruptedException {
    List<Waiter> crowd = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      crowd.add(new Waiter(one, share));
    }
    return crowd;
  }

  @Test
  void aReleasedPermitCostsTheSameHoweverManyWait() throws Exception {
    List<Grant> grants = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      grants.add(take(two, permits(1, 10)));
    }
    int waiters = 60; // twice what a release may cost
    List<Waiter> crowd = crowd(waiters, permits(1, 10));
    // All but the first waiter, which watches the queue.
    Eventually.holds("all watch", () -> watches() == waiters - 1);
    for (int i = 0; i < 5; i++) {
      long before = packets();
      release(two, grants.get(i));
      crowd.get(i).granted();
      // The next waiter now watches the queue, and no node.
      int others = waiters - 2 - i;
      Eventually.holds("all others watch", () -> watches() == others);
      long cost = packets() - before;
      assertTrue(cost < 30, () -> "a release cost " + cost + " packets");
      assertFalse(crowd.get(i + 1).grant.isDone());
    }
    for (Waiter waiter : crowd) {
      waiter.place.close();
    }
  }

  @Test
  void aWriterThatReleasesServesAllReadersBehindItWithoutARequestOfTheirs() throws Exception {
    Grant writer = take(two, WRITE);
    List<Waiter> crowd = crowd(100, READ);
    Waiter last = new Waiter(two, WRITE);
    Eventually.holds("all watch", () -> watches() == 2);
    // A recent confirmation keeps each reader from confirming its own grant.
    Grant other = Backends.take(one, Backends.claim(name + "-other"));
    long before = packets();
    release(two, writer);
    for (Waiter waiter : crowd) {
      waiter.granted();
    }
    long cost = packets() - before;
    assertTrue(cost < 30, () -> "the release cost " + cost + " packets");
    assertHolders(100, 1);
    release(one, other);
    for (Waiter waiter : crowd.subList(0, 99)) {
      waiter.leave();
    }
    assertFalse(last.grant.isDone());
    crowd.get(99).leave();
    last.granted();
    last.leave();
  }

  @Test
  void uncontendedSharesCostAsManyRequestsAsExclusiveLocks() throws Exception {
    int rounds = 50;
    long exclusive = 0;
    for (Share share : List.of(EXCLUSIVE, WRITE, READ, permits(1, 5), permits(5, 5))) {
      release(one, take(one, share));
      long before = packets();
      for (int i = 0; i < rounds; i++) {
        release(one, take(one, share));
      }
      long cost = packets() - before;
      exclusive = share.isExclusive() ? cost : exclusive;
      // Pings and heartbeats are counted as well, but nothing for each round.
      long difference = Math.abs(cost - exclusive);
      assertTrue(difference < rounds / 2, () -> share + ": " + difference);
    }
  }
}
