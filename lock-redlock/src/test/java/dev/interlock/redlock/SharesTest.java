package dev.interlock.redlock;

import static dev.interlock.redlock.Backends.claim;
import static dev.interlock.redlock.Backends.eventually;
import static dev.interlock.redlock.Backends.soon;
import static dev.interlock.redlock.Backends.take;
import static dev.interlock.redlock.Backends.tryTake;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.redis.server.Script;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Readers and writers on five nodes, seen from the backend and from each node. */
class SharesTest {

  private static final String LOCK = "interlock:{job}";
  private static final String FENCE = "interlock:{job}:fence";
  private static final Duration WAIT = Duration.ofSeconds(20);

  /** A busy machine is no dead node. */
  private static final String QUERY = "?nodeTimeout=5s";

  @AutoClose
  private static final RedlockNodes redlock = Testbed.redlockNodes().nodes(5).forFaults().start();

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

  private static Claim reader() {
    return claim("job", Share.READ);
  }

  private static Claim writer() {
    return claim("job", Share.WRITE);
  }

  private static Claim waiting(Share share) {
    return claim("job", share, Backends.TTL, WAIT);
  }

  private static String hold(Claim claim) {
    return claim.id() + '|' + claim.share().weight() + '|' + claim.label();
  }

  private static @Nullable Object score(RedisServer node, Claim claim) throws IOException {
    return node.call("ZSCORE", LOCK, hold(claim));
  }

  private static void everywhere(Claim claim) throws Exception {
    for (RedisServer node : nodes) {
      eventually("the share on " + node.name(), () -> score(node, claim) != null);
    }
  }

  private static void nowhere(Claim claim) throws Exception {
    for (RedisServer node : nodes) {
      eventually("nothing on " + node.name(), () -> score(node, claim) == null);
    }
  }

  private Attempt.Busy assertBusy(Claim claim) throws InterruptedException {
    return assertInstanceOf(Attempt.Busy.class, backend.tryAcquire(claim, soon()));
  }

  /** Puts a share on a node as a client would that does nothing more. */
  private static Claim put(Claim claim, RedisServer... where) throws IOException {
    for (RedisServer node : where) {
      long end = System.currentTimeMillis() + claim.ttl().toMillis();
      String weight = "" + claim.share().weight();
      node.call("ZADD", LOCK, "" + end, hold(claim), "-1", claim.id());
      node.call("ZADD", LOCK, "INCR", weight, "v2|read-write|2147483647");
      node.call("PEXPIREAT", LOCK, "" + end);
    }
    return claim;
  }

  // --- majorities ------------------------------------------------------------------------------

  @Test
  void readersHoldTogetherAndAWriterAloneWhicheverTwoNodesAreDead() throws Exception {
    nodes.get(0).kill();
    nodes.get(1).kill();
    holdTogetherOrAlone();
  }

  @Test
  void readersHoldTogetherAndAWriterAloneWhileTwoNodesAreStopped() throws Exception {
    nodes.get(1).pause();
    nodes.get(3).pause();
    holdTogetherOrAlone();
  }

  private void holdTogetherOrAlone() throws Exception {
    List<Claim> readers = List.of(reader(), reader());
    long token = 0;
    for (Claim reader : readers) {
      Grant grant = take(backend, reader);
      assertTrue(grant.token() > token, grant::toString);
      token = grant.token();
      assertInstanceOf(Renewal.Renewed.class, backend.renew(grant, soon()));
    }
    for (Claim reader : readers) {
      assertBusy(writer());
      assertTrue(backend.release(reader, soon()));
    }
    Claim writer = writer();
    Grant grant = take(backend, writer);
    assertTrue(grant.token() > token, grant::toString);
    assertInstanceOf(Renewal.Renewed.class, backend.renew(grant, soon()));
    assertBusy(reader());
    assertBusy(writer());
    assertTrue(backend.release(writer, soon()));
    take(backend, reader());
  }

  /** A writer and a reader hold different nodes: each needs three of five, and finds only two. */
  @Test
  void aWriterNeedsAMajorityWhereNobodyIsAndAReaderOneWithoutAWriter() throws Exception {
    nodes.get(4).kill();
    Claim reader = put(reader(), nodes.get(0), nodes.get(1));
    Claim writer = put(writer(), nodes.get(2), nodes.get(3));
    assertBusy(writer());
    assertBusy(reader());
    for (RedisServer node : nodes.subList(2, 4)) {
      node.call("DEL", LOCK);
    }
    Claim refused = writer();
    assertBusy(refused);
    nowhere(refused, 4);
    Claim second = reader();
    take(backend, second);
    assertTrue(backend.release(second, soon()));
    nowhere(second, 4);
    nodes.get(0).call("DEL", LOCK);
    take(backend, writer());
    assertTrue(score(nodes.get(1), reader) != null && score(nodes.get(2), writer) == null);
  }

  @Test
  void anAttemptThatFindsNoMajorityTakesItsOwnVotesBackAndNoOther() throws Exception {
    Claim writer = put(writer(), nodes.get(0), nodes.get(1), nodes.get(2));
    Claim other = put(reader(), nodes.get(3), nodes.get(4));
    for (RedisServer node : nodes) {
      node.call("SET", FENCE, "4503599627370496");
    }
    Claim reader = reader();
    assertBusy(reader);
    nowhere(reader);
    for (RedisServer node : nodes) {
      eventually("the fence of before", () -> "4503599627370496".equals(node.call("GET", FENCE)));
    }
    assertTrue(score(nodes.get(0), writer) != null && score(nodes.get(3), other) != null);
    assertEquals("1", nodes.get(3).call("ZSCORE", LOCK, "v2|read-write|2147483647"));
  }

  @Test
  void aSplitVoteIsBusyForAShortWhile() throws Exception {
    put(reader(), nodes.get(0), nodes.get(1));
    put(reader(), nodes.get(2));
    assertTrue(assertBusy(writer()).retryAfter().toMillis() <= 100);
  }

  /** Each node names another reader as the holder, although all nodes have all readers. */
  @Test
  void whoWaitsForManyReadersDoesNotTakeThemForASplitVoteForever() throws Exception {
    List<Claim> readers = new ArrayList<>();
    for (int i = 0; i < nodes.size(); i++) {
      readers.add(put(reader(), nodes.toArray(RedisServer[]::new)));
    }
    long end = System.currentTimeMillis() + Backends.TTL.toMillis();
    for (int i = 0; i < nodes.size(); i++) {
      nodes.get(i).call("ZADD", LOCK, "" + (end + 1_000), hold(readers.get(i)));
      nodes.get(i).call("PEXPIREAT", LOCK, "" + (end + 1_000));
    }
    Attempt.Busy last = assertBusy(writer());
    for (int i = 0; i < 20; i++) {
      last = assertBusy(writer());
    }
    assertTrue(last.retryAfter().toMillis() > 5_000, last::toString);
  }

  @Test
  void withAMajorityStoppedAnAttemptFailsAndWhatTheyGrantLaterIsReleased() throws Exception {
    for (RedisServer node : nodes.subList(0, 3)) {
      node.pause();
    }
    Claim reader = reader();
    assertTrue(tryTake(backend, reader).isEmpty());
    redlock.heal();
    nowhere(reader);
    eventually("free for a writer", () -> tryTake(backend, writer()).isPresent());
  }

  // --- tokens ----------------------------------------------------------------------------------

  @Test
  void readersOfManyClientsAreAllGrantedAtOnceWithDifferentTokens() throws Exception {
    List<LockBackend> clients = new ArrayList<>();
    ExecutorService threads = Executors.newCachedThreadPool();
    try {
      List<Callable<List<Grant>>> tasks = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        LockBackend client = Backends.open(redlock.uri() + QUERY);
        clients.add(client);
        tasks.add(
            () -> {
              List<Grant> grants = new ArrayList<>();
              for (int j = 0; j < 50; j++) {
                Grant grant = take(client, reader());
                assertTrue(grants.isEmpty() || grant.token() > grants.get(j - 1).token());
                grants.add(grant);
              }
              return grants;
            });
      }
      Set<Long> tokens = new HashSet<>();
      for (Future<List<Grant>> done : threads.invokeAll(tasks)) {
        done.get().forEach(grant -> tokens.add(grant.token()));
      }
      assertEquals(300, tokens.size());
      assertTrue(backend.forceRelease("job", soon()));
      eventually("a writer", () -> tryTake(backend, writer()).filter(above(tokens)).isPresent());
    } finally {
      threads.shutdownNow();
      clients.forEach(LockBackend::close);
    }
  }

  private static Predicate<Grant> above(Set<Long> tokens) {
    return grant -> tokens.stream().allMatch(token -> token < grant.token());
  }

  /** Both nodes have voted for both, in either order; so the highest fence is the same. */
  @Test
  void ofTwoReadersWithTheSameHighestFenceNoneGetsItOnBothNodes() throws Exception {
    for (RedisServer node : nodes) {
      node.call("SET", FENCE, "10");
    }
    take(backend, claim("other")); // the nodes vote
    Claim first = reader();
    Claim second = reader();
    assertEquals(11L, votes(0, first).get(1));
    assertEquals(12L, votes(0, second).get(1));
    assertEquals(11L, votes(1, second).get(1));
    assertEquals(12L, votes(1, first).get(1));

    assertEquals("passed", confirms(0, first, 12));
    assertEquals("passed", confirms(1, second, 12));
    assertEquals("confirmed", confirms(1, first, 12));
    assertEquals("confirmed", confirms(0, second, 12));
    assertEquals(13L, votes(0, first).get(1));
    for (int i = 0; i < 2; i++) { // also if it is sent once more
      assertEquals("confirmed", confirms(1, first, 13));
    }
    assertEquals("13", nodes.get(1).call("GET", FENCE));
    assertEquals("-13", nodes.get(1).call("ZSCORE", LOCK, first.id()));
    assertEquals("gone", confirms(2, first, 19));
  }

  private static List<?> votes(int node, Claim claim) throws IOException {
    return eval(
        node,
        NodeScripts.SHARE_ACQUIRE,
        "v2|read-write|2147483647",
        hold(claim),
        claim.id(),
        "1",
        "2147483647",
        "30000",
        "60000",
        "0",
        "1");
  }

  private static String confirms(int node, Claim claim, long token) throws IOException {
    List<?> reply =
        eval(node, NodeScripts.SHARE_CONFIRM, hold(claim), claim.id(), "" + token, "60000");
    return text(reply.get(0));
  }

  private static List<?> eval(int node, Script script, String... arguments) throws IOException {
    RedisServer server = nodes.get(node);
    List<String> command = new ArrayList<>(List.of("EVAL", new String(script.source(), US_ASCII)));
    command.addAll(List.of("3", LOCK, FENCE, "interlock:redlock"));
    command.addAll(List.of(arguments));
    command.add((String) server.call("HGET", "interlock:redlock", "run"));
    command.addAll(List.of("60000", "5"));
    return (List<?>) server.call(command.toArray(String[]::new));
  }

  private static String text(Object word) {
    return word instanceof byte[] bytes ? new String(bytes, US_ASCII) : "" + word;
  }

  // --- ends ------------------------------------------------------------------------------------

  @Test
  void aReaderThatIsNotRenewedEndsAndOneThatIsRenewedDoesNotKeepIt() throws Exception {
    Grant kept = take(backend, reader());
    Claim dead = claim("job", Share.READ, Duration.ofSeconds(1), Duration.ZERO);
    take(backend, dead);
    everywhere(dead);
    eventually(
        "the end of the other",
        () -> {
          assertInstanceOf(Renewal.Renewed.class, backend.renew(kept, soon()));
          return backend.inspect("job", soon()).holders().size() == 1;
        });
    assertBusy(writer());
    assertTrue(backend.release(kept.claim(), soon()));
    take(backend, writer());
  }

  @Test
  void aReleaseEndsOneShareAndIsNoneOfTheNextHolder() throws Exception {
    Claim first = reader();
    Claim second = reader();
    take(backend, first);
    take(backend, second);
    assertTrue(backend.release(first, soon()));
    assertFalse(backend.release(first, soon()));
    assertBusy(writer());
    assertTrue(backend.release(second, soon()));
    Claim writer = writer();
    Grant grant = take(backend, writer);
    assertFalse(backend.release(second, soon()));
    assertInstanceOf(Renewal.Renewed.class, backend.renew(grant, soon()));
  }

  /** The readers that came later have higher tokens, which must not matter. */
  @Test
  void aRenewalGivesAReaderItsShareAgainWhereAMinorityHasLostIt() throws Exception {
    Claim claim = reader();
    Grant grant = take(backend, claim);
    everywhere(claim);
    for (RedisServer node : nodes.subList(0, 2)) {
      node.call("DEL", LOCK);
    }
    take(backend, reader());
    eventually(
        "the share on all nodes",
        () -> {
          assertInstanceOf(Renewal.Renewed.class, backend.renew(grant, soon()));
          return score(nodes.get(0), claim) != null && score(nodes.get(1), claim) != null;
        });
    nodes.get(3).kill();
    nodes.get(4).kill();
    eventually("these count", () -> backend.renew(grant, soon()) instanceof Renewal.Renewed);
    assertEquals("-" + grant.token(), nodes.get(0).call("ZSCORE", LOCK, claim.id()));
  }

  @Test
  void noShareIsGivenAgainBesideAWriter() throws Exception {
    Claim claim = reader();
    Grant grant = take(backend, claim);
    everywhere(claim);
    nodes.get(0).call("DEL", LOCK);
    Claim writer = put(writer(), nodes.get(0));
    for (int i = 0; i < 3; i++) {
      assertInstanceOf(Renewal.Renewed.class, backend.renew(grant, soon()));
    }
    assertNull(score(nodes.get(0), claim));
    assertTrue(score(nodes.get(0), writer) != null);
  }

  @Test
  void whatAMajorityHasLostIsGoneAndNotBroughtBack() throws Exception {
    for (Share share : List.of(Share.READ, Share.WRITE)) {
      Claim claim = claim("job", share);
      Grant grant = take(backend, claim);
      everywhere(claim);
      for (RedisServer node : nodes.subList(0, 3)) {
        node.call("DEL", LOCK);
      }
      for (int i = 0; i < 3; i++) {
        assertInstanceOf(Renewal.Lost.class, backend.renew(grant, soon()));
      }
      assertFalse(backend.release(claim, soon()));
      nowhere(claim);
    }
  }

  /**
   * If such a vote counted, a node that answers late could bring back a lease after another one.
   */
  @Test
  void aShareThatANodeGivesAgainAfterTheEndOfTheLeaseDoesNotCount() {
    Entry entry = Entry.fresh(reader(), 3);
    entry.confirm(1_000);
    entry.setLacking(2, true);
    assertTrue(entry.isToBeRestoredOn(2, 999) && entry.lacks(2));
    entry.markRestored(2, 1_000);
    assertTrue(entry.lacks(2));
    entry.markRestored(2, 999);
    assertFalse(entry.lacks(2));
  }

  @ValueSource(strings = {"READ", "WRITE"})
  @ParameterizedTest
  void nodesThatCameBackEmptyLetNobodyInBesideAHolder(String side) throws Exception {
    Share share = side.equals("READ") ? Share.READ : Share.WRITE;
    nodes.get(3).kill();
    nodes.get(4).kill();
    take(backend, claim("job", share));
    nodes.get(0).restartEmpty();
    nodes.get(3).restart();
    nodes.get(4).restart();
    // Nodes 0, 3 and 4 know of no holder, and would be a majority.
    for (int i = 0; i < 3; i++) {
      assertTrue(tryTake(backend, writer()).isEmpty(), "a writer was let in beside a holder");
    }
  }

  // --- waiters ---------------------------------------------------------------------------------

  @Test
  void aWriterThatWaitsKeepsOutReadersThatComeLaterWhicheverNodesAreMissing() throws Exception {
    Claim first = reader();
    take(backend, first);
    everywhere(first);
    nodes.get(0).call("DEL", LOCK); // votes for the writer, and is asked to forget that
    nodes.get(1).kill();
    Claim writer = waiting(Share.WRITE);
    assertBusy(writer);
    nowhere(writer, 1);
    nodes.get(1).restart();
    eventually(
        "a connection to node 1",
        () -> {
          assertBusy(reader());
          return isConnected(nodes.get(1));
        });
    nodes.get(4).pause();
    assertBusy(reader());
    assertTrue(backend.release(first, soon()));
    assertBusy(reader());
    eventually("its turn", () -> tryTake(backend, waiting(Share.WRITE)).isPresent());
  }

  /** Whether it has another connection than this one. */
  private static boolean isConnected(RedisServer node) throws IOException {
    return String.valueOf(node.call("CLIENT", "LIST")).lines().count() > 1;
  }

  private static void nowhere(Claim claim, int dead) throws Exception {
    for (RedisServer node : nodes) {
      eventually(
          "nothing on " + node.name(),
          () -> node.equals(nodes.get(dead)) || score(node, claim) == null);
    }
  }

  @Test
  void aWriterThatDiedKeepsReadersOutNoLongerThanItSaid() throws Exception {
    Claim first = reader();
    take(backend, first);
    everywhere(first);
    assertBusy(claim("job", Share.WRITE, Backends.TTL, Duration.ofSeconds(4)));
    assertBusy(reader());
    eventually("the end of its mark", () -> tryTake(backend, reader()).isPresent());
  }

  @Test
  void whoDoesNotWaitKeepsNobodyOut() throws Exception {
    take(backend, reader());
    assertBusy(writer());
    take(backend, reader());
  }

  @Test
  void afterAWriterThoseReadersComeFirstThatWereRefusedMeanwhile() throws Exception {
    Claim first = writer();
    take(backend, first);
    everywhere(first);
    assertBusy(waiting(Share.READ));
    // Of those that were refused in one millisecond the writer comes first.
    long refusedAt = System.currentTimeMillis();
    eventually("another millisecond", () -> System.currentTimeMillis() > refusedAt);
    assertBusy(waiting(Share.WRITE));
    long released = System.nanoTime();
    assertTrue(backend.release(first, soon()));
    Attempt attempt = backend.tryAcquire(writer(), soon());
    boolean inTheirTurn = System.nanoTime() - released < Duration.ofMillis(200).toNanos();
    if (inTheirTurn || attempt instanceof Attempt.Busy) {
      assertInstanceOf(Attempt.Busy.class, attempt);
      take(backend, waiting(Share.READ));
    }
  }

  // --- kinds -----------------------------------------------------------------------------------

  @Test
  void whoeverUsesTheNameInAnotherWayIsToldAndLeavesNothing() throws Exception {
    for (Share holderShare : List.of(Share.EXCLUSIVE, Share.READ, Share.WRITE)) {
      Claim holder = claim("job", holderShare);
      Grant grant = take(backend, holder);
      for (RedisServer node : nodes) {
        eventually("held", () -> !contents(node).isEmpty());
      }
      List<String> before = contents();
      for (Share other : List.of(Share.EXCLUSIVE, Share.READ, Share.WRITE)) {
        if (!other.agreesWith(holderShare)) {
          Claim claim = claim("job", other, Backends.TTL, WAIT);
          LockConfigurationException e =
              assertThrows(
                  LockConfigurationException.class, () -> backend.tryAcquire(claim, soon()));
          assertEquals(other.disagreement("job", holderShare).getMessage(), e.getMessage());
          assertEquals(before, contents());
        }
      }
      assertInstanceOf(Renewal.Renewed.class, backend.renew(grant, soon()));
      assertTrue(backend.release(holder, soon()));
      for (RedisServer node : nodes) {
        eventually("free", () -> contents(node).isEmpty());
      }
    }
  }

  private static List<String> contents() throws IOException {
    List<String> contents = new ArrayList<>();
    for (RedisServer node : nodes) {
      contents.add(contents(node));
    }
    return contents;
  }

  private static String contents(RedisServer node) throws IOException {
    return switch (String.valueOf(node.call("TYPE", LOCK))) {
      case "none" -> "";
      case "string" -> String.valueOf(node.call("GET", LOCK));
      default -> String.valueOf(node.call("ZRANGE", LOCK, "0", "-1"));
    };
  }

  @Test
  void anAttemptOfTheOtherKindThatIsLeftOnAMinorityIsInNobodysWay() throws Exception {
    nodes.get(0).call("SET", LOCK, claim("job").id() + "|other", "PX", "60000");
    Claim reader = reader();
    take(backend, reader);
    assertTrue(backend.release(reader, soon()));
  }

  @Test
  void aNameThatIsWaitedForIsNotTakenInAnotherWay() throws Exception {
    Claim reader = reader();
    take(backend, reader);
    everywhere(reader);
    Claim writer = waiting(Share.WRITE);
    assertBusy(writer);
    assertTrue(backend.release(reader, soon()));
    assertFalse(backend.inspect("job", soon()).isHeld());
    assertFalse(backend.forceRelease("job", soon()));
    assertThrows(LockConfigurationException.class, () -> backend.tryAcquire(claim("job"), soon()));
    take(backend, writer);
  }

  // --- showing and forcing ---------------------------------------------------------------------

  @Test
  void thoseAreShownWhoHoldAMajority() throws Exception {
    Grant first = take(backend, reader());
    Grant second = take(backend, reader());
    everywhere(first.claim());
    everywhere(second.claim());
    put(reader(), nodes.get(0), nodes.get(1));
    LockState state = backend.inspect("job", soon());
    assertEquals(LockKind.READ_WRITE, state.kind().orElseThrow());
    assertEquals(
        List.of(first.token(), second.token()),
        state.holders().stream().map(each -> each.fencingToken().orElseThrow()).toList());
    assertEquals(Set.of("job"), listed());
  }

  private Set<String> listed() throws InterruptedException {
    Set<String> names = new HashSet<>();
    @Nullable String cursor = null;
    do {
      LockPage page = backend.list("", cursor, 10, soon());
      page.locks().forEach(lock -> names.add(lock.name()));
      cursor = page.next();
    } while (cursor != null);
    return names;
  }

  @Test
  void aForcedReleaseAndARevocationReachAllHolders() throws Exception {
    List<Grant> grants = List.of(take(backend, reader()), take(backend, reader()));
    nodes.get(0).pause();
    assertTrue(backend.revoke("job", soon()));
    for (Grant grant : grants) {
      assertInstanceOf(Renewal.Lost.class, backend.renew(grant, soon()));
    }
    assertBusy(writer());
    assertTrue(backend.forceRelease("job", soon()));
    assertFalse(backend.inspect("job", soon()).isHeld());
    take(backend, writer());
  }
}
