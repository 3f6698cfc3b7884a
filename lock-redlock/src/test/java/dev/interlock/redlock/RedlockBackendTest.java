package dev.interlock.redlock;

import static dev.interlock.redlock.Backends.claim;
import static dev.interlock.redlock.Backends.eventually;
import static dev.interlock.redlock.Backends.soon;
import static dev.interlock.redlock.Backends.take;
import static dev.interlock.redlock.Backends.tryTake;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.spi.WakeUp;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisRights;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The effects of attempts on three nodes, seen from the backend and from each node. */
class RedlockBackendTest {

  private static final String LOCK = "interlock:{job}";
  private static final String FENCE = "interlock:{job}:fence";

  /** A busy machine is no dead node. */
  private static final String QUERY = "?nodeTimeout=5s";

  @AutoClose
  private static final RedlockNodes redlock = Testbed.redlockNodes().nodes(3).forFaults().start();

  private static final List<RedisServer> nodes = redlock.members();
  private LockBackend backend;

  @BeforeEach
  void open() throws IOException {
    redlock.heal();
    for (RedisServer node : nodes) {
      node.call("FLUSHALL");
    }
    backend = Backends.open(redlock.uri() + QUERY);
  }

  @AfterEach
  void close() {
    redlock.heal(); // or else the client would wait for what nodes that are stopped owe it
    backend.close();
  }

  private static void everywhere(String what, String key, Object value) throws Exception {
    for (RedisServer node : nodes) {
      eventually(what + " on " + node.name(), () -> Objects.equals(value, node.call("GET", key)));
    }
  }

  /** Requires the value on a majority: the third node may not be asked after two have refused. */
  private static void onMost(String what, String key, Object value) throws Exception {
    eventually(
        what + " on most nodes",
        () -> {
          int count = 0;
          for (RedisServer node : nodes) {
            count += Objects.equals(value, node.call("GET", key)) ? 1 : 0;
          }
          return count >= 2;
        });
  }

  @Test
  void aFreeLockIsGrantedByAllNodesWithOneToken() throws Exception {
    Claim claim = claim("job");
    Grant grant = take(backend, claim);

    everywhere("the lock", LOCK, claim.id() + "|host/1/test");
    everywhere("the token", FENCE, Long.toString(grant.token()));
    assertTrue(backend.release(claim, soon()));
    everywhere("nothing", LOCK, null);
  }

  @Test
  void aLockThatMostNodesHaveLostIsNotKeptByTheRest() throws Exception {
    Claim claim = claim("job");
    take(backend, claim);
    everywhere("the lock", LOCK, claim.id() + "|host/1/test");
    nodes.get(1).call("DEL", LOCK);
    nodes.get(2).call("DEL", LOCK);
    assertFalse(backend.releaseAfter(claim, Backends.TTL, soon()));
    long ends = System.nanoTime() + Backends.TTL.toNanos();
    everywhere("nothing", LOCK, null);
    assertTrue(System.nanoTime() - ends < 0, "it was kept until it ended by itself");
  }

  /** The claim may be on any node, as after answers that came too late. */
  @Test
  void aDeferredReleaseIsConfirmedAlthoughARenewalHasMetIt() throws Exception {
    Claim claim = claim("job");
    Grant grant = take(backend, claim);
    assertTrue(backend.releaseAfter(claim, Backends.TTL, soon()));
    for (int i = 0; i < nodes.size(); i++) {
      assertInstanceOf(Renewal.Lost.class, backend.renew(grant, soon()));
    }
    assertTrue(backend.releaseAfter(claim, Backends.TTL, soon()));
  }

  @Test
  void aBusyLockNamesItsHolder() throws Exception {
    take(backend, claim("job"));
    Attempt busy = backend.tryAcquire(claim("job"), soon());
    assertEquals("host/1/test", assertInstanceOf(Attempt.Busy.class, busy).holder());
  }

  @Test
  void theTokenIsTheHighestFenceOfAMajorityAndIsWrittenBack() throws Exception {
    nodes.get(0).call("SET", FENCE, "4503599627370496");
    nodes.get(1).call("SET", FENCE, "4503599627370500");
    nodes.get(2).pause();

    Grant grant = take(backend, claim("job"));
    assertEquals(4503599627370501L, grant.token());
    assertEquals("4503599627370501", nodes.get(0).call("GET", FENCE));
  }

  @Test
  void aTokenIsAboveTheLastOneWhicheverNodeIsMissing() throws Exception {
    nodes.get(0).call("SET", FENCE, "4503599627370496");
    nodes.get(1).pause();
    Claim first = claim("job");
    long token = take(backend, first).token();
    assertTrue(backend.release(first, soon()));
    nodes.get(1).resume();
    nodes.get(0).pause();
    eventually(
        "a vote without the node that had the highest fence",
        () -> tryTake(backend, claim("job")).filter(grant -> grant.token() > token).isPresent());
  }

  @Test
  void fencesAreRememberedForAnHourAfterTheLeaseCanHaveEnded() throws Exception {
    Claim claim = claim("job");
    Grant grant = take(backend, claim);
    long rest = Backends.TTL.plusHours(1).toMillis();
    for (RedisServer node : nodes) {
      eventually("a fence", () -> pttl(node, FENCE) > 0);
      long remaining = pttl(node, FENCE);
      assertTrue(remaining > rest - 10_000 && remaining <= rest, () -> remaining + " ms");
      node.call("PEXPIRE", FENCE, "20000");
    }
    assertInstanceOf(Renewal.Renewed.class, backend.renew(grant, soon()));
    for (RedisServer node : nodes) {
      eventually("renewed", () -> pttl(node, FENCE) > rest - 10_000);
    }
  }

  private static long pttl(RedisServer node, String key) throws IOException {
    return (Long) node.call("PTTL", key);
  }

  @Test
  void inspectionShowsTheTokenThatAMajorityHas() throws Exception {
    Claim claim = claim("job");
    Grant grant = take(backend, claim);
    everywhere("the token", FENCE, Long.toString(grant.token()));
    nodes.get(1).call("SET", FENCE, Long.toString(grant.token() + 33));

    for (int i = 0; i < 20; i++) { // whichever node answers last
      assertEquals(grant.token(), backend.inspect("job", soon()).fencingToken().orElseThrow());
    }
    nodes.get(2).call("SET", FENCE, Long.toString(grant.token() - 1));
    LockState state = backend.inspect("job", soon());
    assertEquals("host/1/test", state.holder().flatMap(LockState.Holder::label).orElseThrow());
    assertTrue(state.fencingToken().isEmpty(), () -> "a token that no majority has: " + state);
  }

  @Test
  void aHeldLockIsBusyAndNothingRemainsOfTheAttempt() throws Exception {
    Claim holder = claim("job");
    long start = System.nanoTime();
    take(backend, holder);
    everywhere("the holder", LOCK, holder.id() + "|host/1/test");

    long remaining;
    try (Watch watch = backend.watch("job", new WakeUp(Backends.TIME))) {
      assertNotNull(watch);
      eventually("it hears of releases", () -> pause() > 1_000);
      remaining = pause();
    }
    long most = Backends.TTL.toMillis() + 1;
    long least = most - Duration.ofNanos(System.nanoTime() - start).toMillis() - 2;
    assertTrue(remaining >= least && remaining <= most, () -> remaining + " ms, at least " + least);
    onMost("the mark", LOCK, "awaited|" + holder.id() + "|host/1/test");
  }

  private long pause() throws InterruptedException {
    Attempt attempt = backend.tryAcquire(waiting(), soon());
    return assertInstanceOf(Attempt.Busy.class, attempt).retryAfter().toMillis();
  }

  /** A claim of a caller that waits. */
  private static Claim waiting() {
    return claim("job", Share.EXCLUSIVE, Backends.TTL, Duration.ofMinutes(1));
  }

  @Test
  void aWaiterThatSleepsHasAskedForAMessage() throws Exception {
    try (LockBackend other = Backends.open(redlock.uri() + QUERY);
        Watch watch = backend.watch("job", new WakeUp(Backends.TIME))) {
      assertNotNull(watch);
      Claim first = claim("job");
      take(other, first);
      eventually("it hears of releases", () -> pause() > 1_000);
      onMost("the mark", LOCK, "awaited|" + first.id() + "|host/1/test");
    }
  }

  @Test
  void aSplitVoteIsBusyForAShortWhileAndLeavesNothing() throws Exception {
    String other = claim("job").id();
    nodes.get(0).call("SET", LOCK, other + "|other", "PX", "20000");
    nodes.get(1).call("SET", LOCK, claim("job").id() + "|third", "PX", "20000");

    Attempt attempt = backend.tryAcquire(claim("job"), soon());
    long remaining = assertInstanceOf(Attempt.Busy.class, attempt).retryAfter().toMillis();
    assertTrue(remaining <= 101, () -> remaining + " ms");
    // Two busy answers decide; the third node's grant may come later, and is given back then.
    eventually("the third node is free", () -> nodes.get(2).call("GET", LOCK) == null);
  }

  @Test
  void theDocumentedRightsAreEnoughAndNoneIsOneTooMany() throws Exception {
    RedisRights rights = RedisRights.read(Path.of("..", "docs", "operating.md"), "redlock");
    String uri = redlock.uri().replace("://", "://" + rights.userInfo()) + QUERY;
    rights.requireExact(
        nodes,
        () -> {
          for (RedisServer node : nodes) {
            node.call("FLUSHALL");
            node.call("SCRIPT", "FLUSH");
          }
          try (LockBackend mine = Backends.open(uri)) {
            Claim claim = claim("job");
            Grant grant = take(mine, claim);
            everywhere("the lock", LOCK, claim.id() + "|host/1/test");
            assertInstanceOf(Renewal.Renewed.class, mine.renew(grant, soon()));
            try (Watch watch = mine.watch("job", new WakeUp(Backends.TIME))) {
              awaitOrRefused("listening", node -> listens(node));
              assertTrue(tryTake(mine, waiting()).isEmpty());
              // Once two have refused, the third need not be asked any more.
              awaitOrRefused("two are marked", node -> marked() >= 2);
              assertEquals(Set.of("job"), listed(mine));
              assertTrue(mine.revoke("job", soon()));
              assertTrue(mine.release(claim, soon()));
              Claim served = waiting();
              take(mine, served);
              assertTrue(mine.release(served, soon()));
            }
            awaitOrRefused("not listening", node -> !listens(node));
            Claim reader = claim("shared", Share.READ);
            take(mine, reader);
            assertTrue(mine.release(reader, soon()));
            for (RedisServer node : nodes) {
              node.call("DEL", LOCK);
              node.call("LPUSH", LOCK, "of somebody else");
            }
            assertThrows(LockConfigurationException.class, () -> mine.inspect("job", soon()));
          }
        });
  }

  private static Set<String> listed(LockBackend backend) throws InterruptedException {
    Set<String> names = new HashSet<>();
    @Nullable String cursor = null;
    do {
      LockPage page = backend.list("", cursor, 10, soon());
      page.locks().forEach(lock -> names.add(lock.name()));
      cursor = page.next();
    } while (cursor != null);
    return names;
  }

  /** A key on a single node is not a lock. */
  @Test
  void locksOfAMajorityAreListedEvenIfANodeHasForgottenThem() throws Exception {
    Claim claim = claim("job");
    take(backend, claim);
    everywhere("the lock", LOCK, claim.id() + "|host/1/test");
    nodes.get(0).call("DEL", LOCK);
    nodes.get(1).call("SET", "interlock:{orphan}", claim.id() + "|third", "PX", "20000");
    assertEquals(Set.of("job"), listed(backend));
    nodes.get(1).call("DEL", "interlock:{orphan}");
    assertTrue(backend.release(claim, soon()));
  }

  @Test
  void whatIsNoLockIsLeftOutOfAListing() throws Exception {
    take(backend, claim("job"));
    for (RedisServer node : nodes) {
      node.call("LPUSH", "interlock:{list}", "of somebody else");
    }
    assertEquals(Set.of("job"), listed(backend));
  }

  @Test
  void aListingThatIsNotPermittedSaysSo() throws Exception {
    for (RedisServer node : nodes) {
      node.call("ACL", "SETUSER", "lister", "on", ">secret", "~*", "&*", "+@all", "-scan");
    }
    String uri = redlock.uri().replace("://", "://lister:secret@") + QUERY;
    try (LockBackend mine = Backends.open(uri)) {
      LockConfigurationException problem =
          assertThrows(LockConfigurationException.class, () -> listed(mine));
      assertTrue(problem.getMessage().contains("does not grant"), problem::getMessage);
    }
  }

  /** The cursor of a node means nothing to its next process. */
  @Test
  void aNodeThatWasRestartedDuringAListingCountsAsMissing() throws Exception {
    for (int i = 0; i < 40; i++) {
      take(backend, claim("job " + i));
    }
    LockPage page = backend.list("", null, 3, soon());
    nodes.get(0).kill();
    nodes.get(0).restart();
    page = backend.list("", page.next(), 3, soon());
    assertEquals(List.of(), page.locks());
    assertEquals("1/0/1/", page.next());
  }

  private static long marked() throws IOException {
    long marked = 0;
    for (RedisServer node : nodes) {
      marked += String.valueOf(node.call("GET", LOCK)).startsWith("awaited|") ? 1 : 0;
    }
    return marked;
  }

  private static long publishing() throws IOException {
    long publishing = 0;
    for (RedisServer node : nodes) {
      publishing +=
          node.call("INFO", "commandstats").toString().contains("cmdstat_publish") ? 1 : 0;
    }
    return publishing;
  }

  private static boolean listens(RedisServer node) throws IOException {
    return node.call("PUBSUB", "CHANNELS") instanceof List<?> list && list.contains(LOCK);
  }

  private interface Condition {
    boolean on(RedisServer node) throws IOException;
  }

  private static void awaitOrRefused(String what, Condition condition) throws Exception {
    for (RedisServer node : nodes) {
      eventually(what, () -> condition.on(node) || !RedisRights.refusals(List.of(node)).isEmpty());
    }
  }

  /** Each node publishes to the listeners that it has refused, and only to them. */
  @Test
  void aReleaseIsPublishedByNodesWithListeners() throws Exception {
    for (RedisServer node : nodes) {
      node.call("CONFIG", "RESETSTAT");
    }
    Claim first = claim("job");
    take(backend, first);
    assertTrue(tryTake(backend, claim("job")).isEmpty());
    backend.release(first, soon());
    everywhere("nothing", LOCK, null);

    Claim second = claim("job");
    Grant grant = take(backend, second);
    everywhere("the lock", LOCK, second.id() + "|host/1/test");
    assertEquals(0, publishing());

    try (LockBackend waiter = Backends.open(redlock.uri() + QUERY)) {
      WakeUp news = new WakeUp(Backends.TIME);
      try (Watch watch = waiter.watch("job", news)) {
        for (RedisServer node : nodes) {
          eventually("listening", () -> node.call("PUBSUB", "CHANNELS").toString().contains("job"));
        }
        assertTrue(tryTake(waiter, waiting()).isEmpty());
        // Once two have refused, the third need not be asked any more.
        eventually("two are marked", () -> marked() >= 2);
        assertInstanceOf(Renewal.Renewed.class, backend.renew(grant, soon()));
        assertTrue(backend.release(second, soon()));
        eventually("published by two", () -> publishing() >= 2);
        assertTrue(news.await(soon()));
      }
    }
  }

  @Test
  void anAttemptThatCannotSucceedTellsEveryVote() throws Exception {
    nodes.get(0).kill();
    nodes.get(1).call("SET", FENCE, "rubbish");

    Exception failure =
        assertThrows(RuntimeException.class, () -> backend.tryAcquire(claim("job"), soon()));
    String message = failure.getMessage();
    assertTrue(message.contains("no majority of 2 of 3 nodes"), message);
    assertTrue(message.contains("127.0.0.1:" + nodes.get(0).port() + ": failed"), message);
    assertTrue(message.contains(FENCE), message);
    assertTrue(message.contains("127.0.0.1:" + nodes.get(2).port() + ": "), message);
  }

  @Test
  void withAMajorityStoppedAnAttemptFailsAndWhatTheyGrantLaterIsReleased() throws Exception {
    nodes.get(0).pause();
    nodes.get(1).pause();
    Claim claim = claim("job");
    LockUnavailableException failure =
        assertThrows(LockUnavailableException.class, () -> backend.tryAcquire(claim, soon()));
    for (RedisServer node : nodes.subList(0, 2)) {
      // Whether it was this question that was not answered, or another one just before it.
      assertTrue(
          failure
              .getMessage()
              .matches(
                  "(?s).*:" + node.port() + "[^;]*: (timed out|failed: [^;]*no answer in time).*"),
          failure::getMessage);
    }
    // The client looks at its nodes again when it is open. If the stopped ones did not answer that,
    // they were never asked for the lock, and it is known that they do not have it.
    Entry entry = (Entry) claim.attachment();
    if (entry.mayBeOn(0) || entry.mayBeOn(1)) {
      assertThrows(LockUnavailableException.class, () -> backend.release(claim, soon()));
    } else {
      assertFalse(backend.release(claim, soon()));
    }

    nodes.get(0).resume();
    nodes.get(1).resume();
    everywhere("nothing", LOCK, null);
    eventually("the lock is free", () -> tryTake(backend, claim("job")).isPresent());
  }

  @Test
  void aRenewalNeedsAMajorityAndRestoresWhatAMinorityHasLost() throws Exception {
    Claim claim = claim("job");
    Grant grant = take(backend, claim);
    everywhere("the lock", LOCK, claim.id() + "|host/1/test");
    nodes.get(2).call("DEL", LOCK, FENCE);

    eventually(
        "the lock on the node that had lost it",
        () -> {
          assertInstanceOf(Renewal.Renewed.class, backend.renew(grant, soon()));
          return nodes.get(2).call("GET", LOCK) != null;
        });
    assertTrue(Long.parseLong((String) nodes.get(2).call("GET", FENCE)) >= grant.token());
  }

  /** A node that was not free yet counts from the second renewal on; here it has to. */
  @Test
  void aRenewalPutsTheLockWhereItsElectionWasRefused() throws Exception {
    nodes.get(2).call("SET", LOCK, claim("job").id() + "|host/1/former", "PX", "60000");
    Claim claim = claim("job");
    Grant grant = take(backend, claim);
    eventually(
        "a vote was refused",
        () -> ((Entry) claim.attachment()).isToBeRestoredOn(2, System.nanoTime()));
    nodes.get(2).call("DEL", LOCK); // the former one's release, which was late
    nodes.get(0).kill();

    assertInstanceOf(Renewal.Failed.class, backend.renew(grant, soon()));
    eventually("the lease is kept", () -> backend.renew(grant, soon()) instanceof Renewal.Renewed);
  }

  /** Node 1 dies before a renewal has shown that node 2 lacks the lock: only node 0 renews. */
  @Test
  void aRenewalThatFailedDoesNotEndRestoring() throws Exception {
    Claim claim = claim("job");
    Grant grant = take(backend, claim);
    everywhere("the lock", LOCK, claim.id() + "|host/1/test");
    nodes.get(2).call("DEL", LOCK);
    nodes.get(1).kill();

    assertInstanceOf(Renewal.Failed.class, backend.renew(grant, soon()));
    eventually("the lease is kept", () -> backend.renew(grant, soon()) instanceof Renewal.Renewed);
  }

  @Test
  void attemptsOfOthersDoNotKeepTheLockFromBeingRestored() throws Exception {
    Claim claim = claim("job");
    Grant grant = take(backend, claim);
    everywhere("the lock", LOCK, claim.id() + "|host/1/test");
    nodes.get(2).call("DEL", LOCK, FENCE);
    for (int i = 0; i < 20; i++) {
      assertInstanceOf(Attempt.Busy.class, backend.tryAcquire(claim("job"), soon()));
    }
    eventually(
        "the lock on the node that had lost it",
        () -> {
          assertInstanceOf(Renewal.Renewed.class, backend.renew(grant, soon()));
          return nodes.get(2).call("GET", LOCK) != null;
        });
  }

  @Test
  void whatAMajorityHasLostIsGoneAndNotBroughtBack() throws Exception {
    Claim claim = claim("job");
    Grant grant = take(backend, claim);
    everywhere("the lock", LOCK, claim.id() + "|host/1/test");
    nodes.get(1).call("DEL", LOCK);
    nodes.get(2).call("DEL", LOCK);

    for (int i = 0; i < 3; i++) {
      assertInstanceOf(Renewal.Lost.class, backend.renew(grant, soon()));
    }
    assertFalse(backend.release(claim, soon()));
  }

  /**
   * The lock is taken away on the two nodes that are left. The holder does not hear of one of them
   * at once, so each renewal learns from only one node that it lacks the lock.
   */
  @Test
  void whatAMajorityHasLostIsNotBroughtBackNodeByNode() throws Exception {
    RedisServer second = nodes.get(1);
    try (FaultProxy proxy = FaultProxy.to(second.host(), second.port());
        LockBackend apart =
            Backends.open(
                redlock.uri().replace(":" + second.port(), ":" + proxy.port())
                    + "?nodeTimeout=3s")) {
      Claim claim = claim("job");
      Grant grant = take(apart, claim);
      everywhere("the lock", LOCK, claim.id() + "|host/1/test");
      nodes.get(0).kill();
      try (NetworkFault deaf = proxy.blackHole(Direction.SERVER_TO_CLIENT)) {
        assertTrue(backend.forceRelease("job", soon()));
        assertInstanceOf(Renewal.Failed.class, apart.renew(grant, soon()));
      }
      String message = "127.0.0.1:" + proxy.port() + ": refused: gone";
      eventually("it is heard again", () -> problem(apart.renew(grant, soon())).contains(message));
      for (int i = 0; i < 3; i++) {
        problem(apart.renew(grant, soon()));
      }
    }
  }

  /** The remaining nodes cannot tell: the lost ones may still have had the lock. */
  @Test
  void aReleaseWhoseMajorityIsLostIsSeenWhenItReachesTheOthers() throws Exception {
    RedisServer second = nodes.get(1);
    try (FaultProxy proxy = FaultProxy.to(second.host(), second.port());
        LockBackend apart =
            Backends.open(redlock.uri().replace(":" + second.port(), ":" + proxy.port()) + QUERY)) {
      Claim claim = claim("job");
      take(apart, claim);
      everywhere("the lock", LOCK, claim.id() + "|host/1/test");
      try (NetworkFault late = proxy.hold(Direction.CLIENT_TO_SERVER)) {
        assertTrue(apart.release(claim, soon()));
        nodes.get(0).kill();
        assertInstanceOf(Attempt.Busy.class, backend.tryAcquire(claim("job"), soon()));
      }
      eventually("the release arrives", () -> tryTake(backend, claim("job")).isPresent());
    }
  }

  /** The vote is given up before the connection is back, over which it would be asked for again. */
  @Test
  void nothingRemainsOfAVoteWhoseAnswerWasLostWhenOthersHoldTheLock() throws Exception {
    RedisServer second = nodes.get(1);
    RedisServer third = nodes.get(2);
    try (FaultProxy slow = FaultProxy.to(second.host(), second.port());
        FaultProxy proxy = FaultProxy.to(third.host(), third.port());
        LockBackend apart = openThrough(slow, proxy)) {
      Claim claim = claimOfALockOnTheFirstTwo(apart);
      try (NetworkFault lost = proxy.loseReplies(claim.id())) {
        CompletableFuture<Attempt> attempt;
        // Once two have refused, the third need not be asked.
        try (NetworkFault undecided = slow.hold(Direction.SERVER_TO_CLIENT)) {
          attempt = CompletableFuture.supplyAsync(() -> attempt(apart, claim));
          assertTrue(lost.awaitHit(Duration.ofMinutes(1)), "it does not vote");
        }
        assertInstanceOf(Attempt.Busy.class, attempt.join());
      }
      eventually("nothing remains", () -> third.call("GET", LOCK) == null);
      assertTrue(System.nanoTime() - claim.issuedAt() < claim.ttl().toNanos(), "until its TTL");
    }
  }

  /** The restarted node kept its vote, and does not vote again at once. */
  @Test
  void nothingRemainsOfAVoteThatARestartedNodeDoesNotRepeatWhenOthersHoldTheLock()
      throws Exception {
    RedisServer second = nodes.get(1);
    RedisServer third = nodes.get(2);
    try (FaultProxy slow = FaultProxy.to(second.host(), second.port());
        FaultProxy proxy = FaultProxy.to(third.host(), third.port());
        LockBackend apart = openThrough(slow, proxy)) {
      Claim claim = claimOfALockOnTheFirstTwo(apart);
      CompletableFuture<Attempt> attempt;
      try (NetworkFault undecided = slow.hold(Direction.SERVER_TO_CLIENT)) {
        try (NetworkFault lost = proxy.loseReplies(claim.id())) {
          attempt = CompletableFuture.supplyAsync(() -> attempt(apart, claim));
          eventually("it votes", () -> third.call("GET", LOCK) != null);
          third.restart();
        }
        eventually("it is asked again", () -> asksForVotes(third));
      }
      assertInstanceOf(Attempt.Busy.class, attempt.join());
      eventually("nothing remains", () -> third.call("GET", LOCK) == null);
      assertTrue(System.nanoTime() - claim.issuedAt() < claim.ttl().toNanos(), "until its TTL");
    }
  }

  private static LockBackend openThrough(FaultProxy second, FaultProxy third) throws Exception {
    return Backends.open(
        redlock
                .uri()
                .replace(":" + nodes.get(1).port(), ":" + second.port())
                .replace(":" + nodes.get(2).port(), ":" + third.port())
            + "?nodeTimeout=15s");
  }

  private static boolean asksForVotes(RedisServer node) throws IOException {
    String statistics = String.valueOf(node.call("INFO", "commandstats"));
    return statistics.contains("cmdstat_hmget");
  }

  private static Attempt attempt(LockBackend backend, Claim claim) {
    try {
      return backend.tryAcquire(claim, soon());
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static Claim claimOfALockOnTheFirstTwo(LockBackend backend) throws Exception {
    Claim known = claim("teach the scripts");
    take(backend, known);
    backend.release(known, soon());
    everywhere("nothing", "interlock:{teach the scripts}", null);
    Claim other = claim("job");
    for (RedisServer node : nodes.subList(0, 2)) {
      node.call("SET", LOCK, other.id() + "|other", "PX", "600000");
    }
    return claim("job", Duration.ofMinutes(1));
  }

  @Test
  void aRightThatIsMissingIsNoLossOfAShare() throws Exception {
    Grant grant = take(backend, claim("job", Share.READ));
    for (RedisServer node : nodes) {
      node.call("ACL", "SETUSER", "default", "-zscore");
    }
    try {
      assertTrue(problem(backend.renew(grant, soon())).contains("does not grant"));
    } finally {
      for (RedisServer node : nodes) {
        node.call("ACL", "SETUSER", "default", "+@all");
      }
    }
    assertInstanceOf(Renewal.Renewed.class, backend.renew(grant, soon()));
  }

  private static String problem(Renewal renewal) {
    return assertInstanceOf(Renewal.Failed.class, renewal).problem().getMessage();
  }

  /** The third node never had the lock, and rightly answers that it does not have it. */
  @Test
  void aReleaseWhoseReplyOneNodeLosesIsInDoubtAndNoLoss() throws Exception {
    RedisServer first = nodes.get(0);
    try (FaultProxy proxy = FaultProxy.to(first.host(), first.port());
        LockBackend apart =
            Backends.open(redlock.uri().replace(":" + first.port(), ":" + proxy.port()) + QUERY)) {
      Claim claim = takeWithoutTheLastNode(apart);
      boolean inDoubt = isInDoubtWithoutAReplyOf(proxy, apart, claim);
      // The client looks at its nodes again when it is open. If that is what lost its reply, the
      // release was answered, and the next one is looked at.
      for (int look = 0; !inDoubt && look < 3; look++) {
        claim = takeWithoutTheLastNode(apart);
        inDoubt = isInDoubtWithoutAReplyOf(proxy, apart, claim);
      }
      assertTrue(inDoubt, "a release is known to have taken place although a majority is silent");
      assertNull(first.call("GET", LOCK));
      assertNull(nodes.get(1).call("GET", LOCK));
      assertFalse(apart.release(claim, soon()), "by now it is known that it is gone");
    }
  }

  private static boolean isInDoubtWithoutAReplyOf(
      FaultProxy proxy, LockBackend backend, Claim claim) throws Exception {
    try (NetworkFault lost = proxy.dropAfter(Direction.SERVER_TO_CLIENT, 0)) {
      assertTrue(backend.release(claim, soon()), "a release that took place was taken for a loss");
      assertEquals(1, lost.hits());
      return false;
    } catch (LockUnavailableException e) {
      return true;
    }
  }

  @Test
  void aReleaseWithAMinorityRestartedEmptyIsNoLoss() throws Exception {
    Claim claim = takeWithoutTheLastNode(backend);
    nodes.get(0).restartEmpty();
    eventually("connected again", () -> isHeld(backend));
    assertThrows(LockUnavailableException.class, () -> backend.release(claim, soon()));
    assertNull(nodes.get(1).call("GET", LOCK));
    assertFalse(backend.release(claim, soon()), "by now it is known that it is gone");
  }

  @Test
  void aDeferredReleaseWithAMinorityRestartedEmptyIsNoLoss() throws Exception {
    Claim claim = takeWithoutTheLastNode(backend);
    nodes.get(0).restartEmpty();
    eventually("connected again", () -> isHeld(backend));
    assertThrows(
        LockUnavailableException.class, () -> backend.releaseAfter(claim, Backends.TTL, soon()));
    assertTrue(((String) nodes.get(1).call("GET", LOCK)).startsWith(claim.deferredId()));
  }

  private static boolean isHeld(LockBackend backend) throws InterruptedException {
    try {
      return backend.inspect("job", soon()).isHeld();
    } catch (LockUnavailableException notYet) {
      return false;
    }
  }

  private static Claim takeWithoutTheLastNode(LockBackend backend) throws Exception {
    Claim known = claim("teach the scripts");
    take(backend, known);
    backend.release(known, soon());
    everywhere("nothing", "interlock:{teach the scripts}", null);
    Claim other = claim("job");
    nodes.get(2).call("SET", LOCK, other.id() + "|other", "PX", "600000");
    Claim claim = claim("job");
    take(backend, claim);
    return claim;
  }
}
