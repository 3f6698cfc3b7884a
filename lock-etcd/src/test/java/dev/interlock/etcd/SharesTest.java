package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.claim;
import static dev.interlock.etcd.Backends.in;
import static dev.interlock.spi.Share.EXCLUSIVE;
import static dev.interlock.spi.Share.READ;
import static dev.interlock.spi.Share.WRITE;
import static dev.interlock.spi.Share.ofSemaphore;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend.Place;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.options.DeleteOption;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests which claims hold a lock together, which wait for which, and which are refused. */
class SharesTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Duration AT_ONCE = Duration.ZERO;

  /** The poll interval is so long that a waiter that needs a poll fails the test. */
  private static final LockOptions OPTIONS =
      LockOptions.builder()
          .requestTimeout(Duration.ofSeconds(20))
          .pollInterval(Duration.ofMinutes(10))
          .build();

  private static final AtomicInteger NAMES = new AtomicInteger();

  @AutoClose private static EtcdCluster etcd;
  private static EtcdServer server;
  @AutoClose private static EtcdBackend backend;
  @AutoClose private static Client own;

  @AutoClose("shutdownNow")
  private static final ExecutorService THREADS = Executors.newCachedThreadPool();

  private final String name = "name-" + NAMES.incrementAndGet();
  private final List<Claim> claims = new ArrayList<>();
  private final List<Place> places = new ArrayList<>();

  @BeforeAll
  static void startServer() {
    etcd = Testbed.etcd().withoutSync().start();
    server = etcd.leader();
    backend = Backends.open(etcd.uri(), OPTIONS);
    own = Client.builder().endpoints("http://127.0.0.1:" + server.port()).build();
  }

  @AfterEach
  void nothingIsLeft() throws Exception {
    places.forEach(Place::close);
    for (Claim claim : claims) {
      boolean unused = backend.release(claim, in(LIMIT));
    }
    assertEquals(0, entries());
  }

  private long entries() throws IOException {
    return Backends.keys(server, LockKeys.of("interlock", name).toString());
  }

  private Claim claimed(Share share) {
    Claim claim = claim(name, share);
    claims.add(claim);
    return claim;
  }

  private Place joined(Share share) throws InterruptedException {
    Place place = backend.join(claimed(share), in(LIMIT));
    places.add(place);
    return place;
  }

  private Grant granted(Place place) throws InterruptedException {
    return assertInstanceOf(Attempt.Granted.class, place.await(in(LIMIT))).grant();
  }

  /** Joins the queue, and must be granted. */
  private Grant acquired(Share share) throws InterruptedException {
    return granted(joined(share));
  }

  private static void assertWaits(Place place) throws InterruptedException {
    assertTrue(place.hasPredecessor());
    assertInstanceOf(Attempt.Busy.class, place.await(in(AT_ONCE)));
  }

  private Future<Grant> granting(Place place) {
    return THREADS.submit(() -> granted(place));
  }

  private static Grant soon(Future<Grant> grant) throws Exception {
    return grant.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
  }

  private static void release(Grant grant) throws InterruptedException {
    release(grant.claim());
  }

  private static void release(Claim claim) throws InterruptedException {
    assertTrue(backend.release(claim, in(LIMIT)));
  }

  private boolean isGrantedAtOnce(Share share) throws InterruptedException {
    return backend.tryAcquire(claimed(share), in(LIMIT)) instanceof Attempt.Granted;
  }

  // --- readers and writers --------------------------------------------------------------------

  @Test
  void readersHoldTogetherAndAWriterWaitsForAllOfThem() throws Exception {
    Grant first = acquired(READ);
    Grant second = acquired(READ);
    assertTrue(isGrantedAtOnce(READ));
    Claim third = claims.get(2);
    assertTrue(second.token() > first.token());

    assertFalse(isGrantedAtOnce(WRITE));
    Place writer = joined(WRITE);
    assertWaits(writer);
    Future<Grant> writing = granting(writer);
    assertTrue(backend.release(third, in(LIMIT)));
    release(first);
    assertWaits(joined(WRITE));
    assertFalse(writing.isDone());
    release(second);
    Grant written = soon(writing);
    assertTrue(written.token() > second.token());
    assertFalse(isGrantedAtOnce(READ));
  }

  @Test
  void aReaderBehindAWaitingWriterWaits() throws Exception {
    Grant reader = acquired(READ);
    Place writer = joined(WRITE);
    Place later = joined(READ);
    assertWaits(writer);
    assertWaits(later);
    assertFalse(isGrantedAtOnce(READ), "it would pass the writer");

    Future<Grant> reading = granting(later);
    Future<Grant> writing = granting(writer);
    release(reader);
    Grant written = soon(writing);
    assertFalse(reading.isDone());
    release(written);
    assertTrue(soon(reading).token() > written.token());
  }

  @Test
  void allReadersBehindAWriterAreGrantedWhenItLeaves() throws Exception {
    Grant written = acquired(WRITE);
    List<Future<Grant>> reading = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      reading.add(granting(joined(READ)));
    }
    Place next = joined(WRITE);
    release(written);
    for (Future<Grant> reader : reading) {
      assertTrue(soon(reader).token() > written.token());
    }
    assertWaits(next);
  }

  @Test
  void aWriterThatStopsWaitingLetsTheReadersBehindItIn() throws Exception {
    Grant reader = acquired(READ);
    Place writer = joined(WRITE);
    Claim writing = claims.get(1);
    assertWaits(writer);
    Future<Grant> later = granting(joined(READ));
    assertTrue(backend.release(writing, in(LIMIT)));
    assertTrue(soon(later).token() > reader.token());
  }

  // --- permits --------------------------------------------------------------------------------

  @Test
  void permitsOfAllWeightsAreGrantedWhileThereIsRoom() throws Exception {
    Grant two = acquired(ofSemaphore(2, 5));
    assertTrue(isGrantedAtOnce(ofSemaphore(3, 5)));
    assertFalse(isGrantedAtOnce(ofSemaphore(1, 5)));
    Place one = joined(ofSemaphore(1, 5));
    assertWaits(one);
    release(two);
    assertTrue(granted(one).token() > two.token());
    assertTrue(isGrantedAtOnce(ofSemaphore(1, 5)));
    assertFalse(isGrantedAtOnce(ofSemaphore(1, 5)));
  }

  @Test
  void aRequestForOnePermitDoesNotPassOneForThree() throws Exception {
    Grant first = acquired(ofSemaphore(1, 3));
    Place three = joined(ofSemaphore(3, 3));
    Place one = joined(ofSemaphore(1, 3));
    assertWaits(three);
    assertWaits(one);
    assertFalse(isGrantedAtOnce(ofSemaphore(1, 3)));

    Future<Grant> last = granting(one);
    Future<Grant> next = granting(three);
    release(first);
    Grant all = soon(next);
    assertFalse(last.isDone());
    release(all);
    assertTrue(soon(last).token() > all.token());
  }

  @Test
  void aRequestForOnePermitDoesNotPassOneForTwoThatLeavesRoom() throws Exception {
    Grant first = acquired(ofSemaphore(2, 3));
    assertWaits(joined(ofSemaphore(2, 3)));
    assertFalse(isGrantedAtOnce(ofSemaphore(1, 3)));
    Place one = joined(ofSemaphore(1, 3));
    assertWaits(one);
    release(first);
    assertTrue(granted(places.get(1)).token() < granted(one).token());
  }

  @Test
  void permitsReleasedTogetherServeAsManyWaiters() throws Exception {
    Grant both = acquired(ofSemaphore(2, 2));
    Future<Grant> first = granting(joined(ofSemaphore(1, 2)));
    Future<Grant> second = granting(joined(ofSemaphore(1, 2)));
    Place third = joined(ofSemaphore(1, 2));
    release(both);
    assertTrue(soon(first).token() < soon(second).token());
    assertWaits(third);
  }

  @Test
  void aWaiterInTheMiddleThatLeavesLetsThoseBehindItIn() throws Exception {
    Grant two = acquired(ofSemaphore(2, 3));
    assertWaits(joined(ofSemaphore(2, 3)));
    Future<Grant> one = granting(joined(ofSemaphore(1, 3)));
    Place last = joined(ofSemaphore(1, 3));
    assertTrue(backend.release(claims.get(1), in(LIMIT)));
    assertTrue(soon(one).token() > two.token());
    assertWaits(last);
  }

  @Test
  void eachHolderOfAShareRenewsAndReleasesItsOwn() throws Exception {
    Grant one = acquired(ofSemaphore(1, 3));
    Grant two = acquired(ofSemaphore(2, 3));
    List<Renewal> renewals = backend.renewAll(List.of(one, two), in(LIMIT));
    renewals.forEach(renewal -> assertInstanceOf(Renewal.Renewed.class, renewal));
    release(one);
    assertFalse(backend.release(one.claim(), in(LIMIT)));
    assertInstanceOf(Renewal.Lost.class, backend.renew(one, in(LIMIT)));
    assertInstanceOf(Renewal.Renewed.class, backend.renew(two, in(LIMIT)));
    assertTrue(isGrantedAtOnce(ofSemaphore(1, 3)));
  }

  /**
   * When the reader is granted, its key moves to a lease of its own, and keeps its place in the
   * queue.
   */
  @Test
  void aReaderWithAFixedTtlHoldsTogetherWithOthers() throws Exception {
    Claim fixed = claim(name, READ, false);
    claims.add(fixed);
    Place place = backend.join(fixed, in(LIMIT));
    places.add(place);
    Grant grant = granted(place);
    assertTrue(grant.expiresOnStore());
    assertTrue(acquired(READ).token() > grant.token());
    assertFalse(isGrantedAtOnce(WRITE));
    assertInstanceOf(Renewal.Renewed.class, backend.renew(grant, in(LIMIT)));
  }

  // --- ends -----------------------------------------------------------------------------------

  @Test
  void theShareOfAnEndedSessionIsFreed() throws Exception {
    try (EtcdBackend other = Backends.open(etcd.uri(), OPTIONS)) {
      Claim dying = claim(name, ofSemaphore(2, 3));
      assertInstanceOf(Attempt.Granted.class, other.tryAcquire(dying, in(LIMIT)));
      Grant one = acquired(ofSemaphore(1, 3));
      Future<Grant> two = granting(joined(ofSemaphore(2, 3)));
      own.getLeaseClient().revoke(QueueEntry.of(dying).lease()).get();
      assertTrue(soon(two).token() > one.token());
      other.forget(dying);
    }
  }

  /** etcd issues 11456 and 9921: a lock was granted after its own lease had ended. */
  @Test
  void aWaiterWhoseLeaseHasEndedIsNotGranted() throws Exception {
    for (Share share : List.of(READ, WRITE)) {
      Grant written = acquired(WRITE);
      try (EtcdBackend other = Backends.open(etcd.uri(), OPTIONS)) {
        Claim waiting = claim(name, share);
        try (Place place = other.join(waiting, in(LIMIT))) {
          assertWaits(place);
          own.getLeaseClient().revoke(QueueEntry.of(waiting).lease()).get();
          release(written);
          LockUnavailableException e =
              assertThrows(LockUnavailableException.class, () -> place.await(in(LIMIT)));
          assertTrue(e.getMessage().contains("gone"), e::getMessage);
        }
        other.forget(waiting);
      }
    }
  }

  // --- disagreement ---------------------------------------------------------------------------

  private static final List<Share> SHARES =
      List.of(
          EXCLUSIVE,
          READ,
          WRITE,
          ofSemaphore(1, 1),
          ofSemaphore(1, 3),
          ofSemaphore(3, 3),
          ofSemaphore(1, 4));

  static Stream<Arguments> disagreements() {
    return SHARES.stream()
        .flatMap(
            present ->
                SHARES.stream()
                    .filter(other -> !other.agreesWith(present))
                    .map(other -> Arguments.of(present, other)));
  }

  @ParameterizedTest
  @MethodSource("disagreements")
  void aNameIsOfOneKindWhileItIsHeldOrAwaited(Share present, Share other) throws Exception {
    Grant grant = acquired(present);
    boolean isFull = !isGrantedAtOnce(present);
    for (boolean waits : new boolean[] {false, true}) {
      if (waits && isFull) {
        assertWaits(joined(present));
      }
      long before = entries();
      LockConfigurationException tried =
          assertThrows(
              LockConfigurationException.class,
              () -> backend.tryAcquire(claimed(other), in(LIMIT)));
      LockConfigurationException joined =
          assertThrows(LockConfigurationException.class, () -> joined(other));
      assertEquals(other.disagreement(name, present).getMessage(), tried.getMessage());
      assertEquals(tried.getMessage(), joined.getMessage());
      assertEquals(before, entries());
      assertInstanceOf(Renewal.Renewed.class, backend.renew(grant, in(LIMIT)));
    }
    places.forEach(Place::close);
    for (Claim claim : claims) {
      boolean unused = backend.release(claim, in(LIMIT));
    }
    acquired(other);
  }

  @Test
  void ofTwoClaimsThatJoinAtTheSameTimeTheLaterFails() throws Exception {
    List<Share> kinds = List.of(EXCLUSIVE, READ, ofSemaphore(1, 2), ofSemaphore(1, 3));
    for (int round = 0; round < 40; round++) {
      List<Claim> entering = new ArrayList<>();
      List<Future<Place>> entered = new ArrayList<>();
      CountDownLatch start = new CountDownLatch(1);
      for (int i = 0; i < 2; i++) {
        Claim claim = claimed(kinds.get((round + i * (1 + round % 3)) % kinds.size()));
        entering.add(claim);
        Callable<Place> join =
            () -> {
              start.await();
              return backend.join(claim, in(LIMIT));
            };
        entered.add(THREADS.submit(join));
      }
      start.countDown();
      int failed = 0;
      for (Future<Place> place : entered) {
        try {
          assertFalse(place.get(LIMIT.toSeconds(), TimeUnit.SECONDS).hasPredecessor());
        } catch (ExecutionException e) {
          assertInstanceOf(LockConfigurationException.class, e.getCause());
          failed++;
        }
      }
      assertEquals(1, failed, () -> entering.get(0).share() + ", " + entering.get(1).share());
      assertEquals(1, entries());
      for (Claim claim : entering) {
        boolean unused = backend.release(claim, in(LIMIT));
      }
    }
  }

  /** Puts an entry that disagrees with the first, and that its client has yet to remove. */
  private ByteSequence stray(Share share) throws Exception {
    ByteSequence key = LockKeys.of("interlock", name).entry(share, 1, 0);
    own.getKVClient().put(key, LockKeys.bytes("id|stray")).get();
    return key;
  }

  static Stream<Arguments> strays() {
    return Stream.of(
        Arguments.of(EXCLUSIVE, ofSemaphore(1, 3), EXCLUSIVE),
        Arguments.of(WRITE, ofSemaphore(1, 3), READ),
        Arguments.of(WRITE, EXCLUSIVE, WRITE),
        Arguments.of(ofSemaphore(3, 3), EXCLUSIVE, ofSemaphore(1, 3)),
        Arguments.of(ofSemaphore(3, 3), ofSemaphore(1, 4), ofSemaphore(3, 3)));
  }

  @ParameterizedTest
  @MethodSource("strays")
  void aDisagreeingClaimThatIsAboutToLeaveRefusesNobody(Share present, Share other, Share later)
      throws Exception {
    Grant heldGrant = acquired(present);
    ByteSequence stray = stray(other);
    assertFalse(isGrantedAtOnce(later));
    Place place = joined(later);
    assertWaits(place);
    Future<Grant> waiting = granting(place);
    release(heldGrant);
    assertWaits(joined(later.isWhole() ? later : present));
    assertFalse(waiting.isDone(), "it has passed one ahead");
    own.getKVClient().delete(stray).get();
    assertTrue(soon(waiting).token() > heldGrant.token());
  }

  /** The predecessor has the same kind, and is about to leave for the same reason. */
  @Test
  void aClaimThatNoticesItsDisagreementLaterFailsThen() throws Exception {
    acquired(ofSemaphore(1, 3));
    ByteSequence stray = stray(EXCLUSIVE);
    Place place = joined(EXCLUSIVE);
    Future<Attempt> waiting = THREADS.submit(() -> place.await(in(LIMIT)));
    own.getKVClient().delete(stray).get();
    ExecutionException e =
        assertThrows(
            ExecutionException.class, () -> waiting.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
    assertInstanceOf(LockConfigurationException.class, e.getCause());
    assertEquals(1, entries());
  }

  /** A compaction may remove the revision that shows which claim came first. */
  @Test
  void aClaimThatNoticesADisagreementAfterACompactionKeepsItsPlace() throws Exception {
    Grant grant = acquired(WRITE);
    ByteSequence stray = stray(EXCLUSIVE);
    Place between = joined(WRITE);
    assertWaits(between);
    Place place = joined(WRITE);
    assertWaits(place);
    Future<Grant> waiting = granting(place);
    long revision = own.getKVClient().get(stray).get().getHeader().getRevision();
    own.getKVClient().put(LockKeys.bytes("other"), LockKeys.bytes("")).get();
    own.getKVClient().compact(revision + 1).get();
    release(claims.get(1));
    assertThrows(TimeoutException.class, () -> waiting.get(1, TimeUnit.SECONDS));
    release(grant);
    own.getKVClient().delete(stray).get();
    assertTrue(soon(waiting).token() > grant.token());
  }

  // --- versions -------------------------------------------------------------------------------

  /** A client that knows only exclusive locks joins the queue without reading the other entries. */
  @Test
  void anOlderClientBehindAReaderIsWaitedFor() throws Exception {
    Grant reader = acquired(READ);
    ByteSequence older = stray(EXCLUSIVE);
    Place later = joined(READ);
    assertWaits(later);
    Future<Grant> waiting = granting(later);
    release(reader);
    assertThrows(LockConfigurationException.class, () -> joined(READ));
    assertFalse(waiting.isDone(), "two hold an exclusive lock");
    own.getKVClient().delete(older).get();
    assertTrue(soon(waiting).token() > reader.token());
  }

  @Test
  void anEntryOfAnUnknownKindCountsAsAnExclusiveLock() throws Exception {
    ByteSequence prefix = LockKeys.of("interlock", name).prefix();
    for (String unknown : List.of("later/1-0", "0-of-3/1-0", "4-of-3/1-0", "1-of-9999999999/1-0")) {
      own.getKVClient().put(prefix.concat(LockKeys.bytes(unknown)), LockKeys.bytes("id|x")).get();
      assertThrows(LockConfigurationException.class, () -> joined(READ));
      assertThrows(LockConfigurationException.class, () -> joined(ofSemaphore(1, 3)));
      assertFalse(isGrantedAtOnce(EXCLUSIVE));
      Place place = joined(EXCLUSIVE);
      assertWaits(place);
      own.getKVClient().delete(prefix.concat(LockKeys.bytes(unknown)), DeleteOption.DEFAULT).get();
      release(granted(place));
    }
  }
}
