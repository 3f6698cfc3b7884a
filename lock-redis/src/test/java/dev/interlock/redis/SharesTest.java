package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.Script;
import dev.interlock.redis.server.ScriptCall;
import dev.interlock.redis.server.StoredClaim;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Names that several claims hold together, seen from the backend and from the server. */
class SharesTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final String LOCK = "interlock:{job}";
  private static final String FENCE = "interlock:{job}:fence";
  private static final Duration WAIT = Duration.ofSeconds(6);
  private static final Pattern CALLS = Pattern.compile("cmdstat_([^:]+):calls=(\\d+)");

  @AutoClose
  private static final RedisServer redis =
      Testbed.firstAvailable(Testbed.redis().clockAhead(Duration.ZERO), Testbed.redis());

  @AutoClose private LockBackend backend;

  @BeforeEach
  void open() throws IOException {
    if (redis.canSetClock()) {
      redis.setClock(Duration.ZERO);
    }
    redis.call("FLUSHALL");
    backend = Backends.open(redis.uri());
  }

  private static void setClock(Duration ahead) {
    assumeTrue(redis.canSetClock() || Testbed.requiresAll(), "a wrong clock needs a C compiler");
    redis.setClock(ahead);
  }

  // --- holding together ------------------------------------------------------------------------

  @Test
  void readersHoldTogetherAndEachHasAHigherToken() throws Exception {
    long token = 0;
    for (int i = 0; i < 100; i++) {
      Grant grant = take(backend, reader());
      assertTrue(grant.token() > token, () -> grant + "");
      token = grant.token();
    }
    assertEquals(Long.toString(token), redis.call("GET", FENCE));
  }

  @Test
  void aWriterExcludesReadersAndWritersAndReadersExcludeAWriter() throws Exception {
    Claim first = reader();
    Claim second = reader();
    take(backend, first);
    take(backend, second);
    assertBusy(writer());
    assertTrue(backend.release(first, soon()));
    assertBusy(writer());
    assertTrue(backend.release(second, soon()));

    Claim writer = writer();
    take(backend, writer);
    assertBusy(reader());
    assertBusy(writer());
    assertTrue(backend.release(writer, soon()));
    take(backend, reader());
  }

  @Test
  void permitsOfAnyWeightStayWithinTheLimit() throws Exception {
    Claim three = permits(3, 5);
    take(backend, three);
    assertBusy(permits(3, 5));
    Claim two = permits(2, 5);
    take(backend, two);
    assertBusy(permits(1, 5));
    assertTrue(backend.release(two, soon()));
    take(backend, permits(1, 5));
    take(backend, permits(1, 5));
    assertBusy(permits(1, 5));
    assertTrue(backend.release(three, soon()));
    take(backend, permits(3, 5));
    assertBusy(permits(1, 5));
  }

  @Test
  void theLimitMayBeAsHighAsAnyAndAsLowAsOne() throws Exception {
    take(backend, permits(Integer.MAX_VALUE - 1, Integer.MAX_VALUE));
    assertBusy(permits(2, Integer.MAX_VALUE));
    take(backend, permits(1, Integer.MAX_VALUE));
    assertBusy(permits(1, Integer.MAX_VALUE));
    redis.call("FLUSHALL");
    Claim only = permits(1, 1);
    take(backend, only);
    assertBusy(permits(1, 1));
    assertTrue(backend.release(only, soon()));
    take(backend, permits(1, 1));
  }

  @Test
  void aDeferredReleaseKeepsAHoldForItsTimeWithoutTheClaim() throws Exception {
    Claim claim = permits(2, 3);
    Claim other = permits(1, 3);
    Grant grant = take(backend, claim);
    Grant second = take(backend, other);
    for (int i = 0; i < 2; i++) { // the second answers a request that is sent again
      assertTrue(backend.releaseAfter(claim, Duration.ofSeconds(4), soon()));
    }
    assertInstanceOf(Renewal.Lost.class, backend.renew(grant, soon()));
    assertFalse(backend.release(claim, soon()));
    List<LockState.Holder> holders = backend.inspect("job", soon()).holders();
    assertEquals(
        Set.of(grant.token(), second.token()),
        holders.stream()
            .map(holder -> holder.fencingToken().orElseThrow())
            .collect(Collectors.toSet()));
    assertBusy(permits(1, 3));
    Eventually.holds(
        "free", () -> backend.tryAcquire(permits(2, 3), soon()) instanceof Attempt.Granted);
    assertInstanceOf(Renewal.Confirmed.class, backend.renew(second, soon()));
    assertTrue(backend.releaseAfter(other, Duration.ofHours(2), soon()));
    long remaining = (Long) redis.call("PTTL", LOCK);
    assertTrue(remaining > Duration.ofMinutes(119).toMillis(), () -> remaining + " ms");
    assertTrue((Long) redis.call("PTTL", FENCE) > remaining + Duration.ofMinutes(59).toMillis());
    assertTrue(backend.revoke("job", soon()));
    assertFalse(backend.releaseAfter(other, Duration.ofHours(1), soon()));
  }

  @Test
  void theLastReleaseLeavesTheFenceAlone() throws Exception {
    List<Claim> claims = List.of(permits(1, 3), permits(1, 3), permits(1, 3));
    for (Claim claim : claims) {
      take(backend, claim);
    }
    assertBusy(permits(1, 3));
    for (Claim claim : claims) {
      assertTrue(backend.release(claim, soon()));
    }
    assertEquals(Set.of(FENCE), redis.keys().keySet());
  }

  @Test
  void tokensOfAllKindsOfANameComeFromOneSource() throws Exception {
    redis.call("SET", FENCE, "4503599627370496");
    long token = 4503599627370496L;
    for (Share share : List.of(Share.READ, Share.EXCLUSIVE, Share.ofSemaphore(2, 3), Share.WRITE)) {
      Claim claim = claim("job", share);
      assertEquals(++token, take(backend, claim).token());
      LockState state = backend.inspect("job", soon());
      assertEquals(token, state.fencingToken().orElseThrow());
      assertEquals(share.kind(), state.kind().orElseThrow());
      assertTrue(backend.release(claim, soon()));
    }
  }

  // --- each ends by itself ---------------------------------------------------------------------

  /**
   * If the fence expired before a hold, setting the clock back during the hold could lower tokens.
   */
  @Test
  void theFenceOutlivesAllHoldsWhicheverIsTheLatest() throws Exception {
    Duration day = Duration.ofDays(1);
    Claim lasting = claim("job", Share.ofSemaphore(1, 3), day, Duration.ZERO);
    long token = take(backend, lasting).token();
    Claim brief = claim("job", Share.ofSemaphore(1, 3), Duration.ofSeconds(20), Duration.ZERO);
    Grant briefly = take(backend, brief);
    assertInstanceOf(Renewal.Confirmed.class, backend.renew(briefly, soon()));
    assertTrue(backend.release(brief, soon()));

    setClock(Duration.ofHours(3));
    assertBusy(permits(3, 3));
    setClock(Duration.ofHours(-1));
    assertTrue(take(backend, permits(1, 3)).token() > token);
  }

  /** A board without a clock of its own begins in 1970. */
  @ParameterizedTest
  @ValueSource(strings = {"1970-01-02T00:00:00Z", "2276-01-01T00:00:00Z"})
  void aClockThatCannotBeRightIsRefused(Instant clock) throws Exception {
    Grant reader = take(backend, reader());
    setClock(Duration.ofSeconds(Instant.now().until(clock, ChronoUnit.SECONDS)));
    for (Share share : List.of(Share.EXCLUSIVE, Share.READ, Share.WRITE, Share.ofSemaphore(1, 2))) {
      String message =
          assertThrows(
                  LockUnavailableException.class,
                  () -> backend.tryAcquire(claim("other", share), soon()))
              .getMessage();
      assertTrue(message.contains("has a clock that cannot be right"), message);
    }
    if (!(backend.renew(reader, soon()) instanceof Renewal.Lost)) {
      setClock(Duration.ZERO);
      assertBusy(writer());
    }
  }

  @Test
  void aHoldThatExpiresEndsNoOtherAndOneThatIsRenewedKeepsNoOther() throws Exception {
    Claim brief = claim("job", Share.READ, Duration.ofSeconds(20), Duration.ZERO);
    Claim lasting = claim("job", Share.READ, Duration.ofSeconds(60), Duration.ZERO);
    Claim later = claim("job", Share.READ, Duration.ofSeconds(25), Duration.ZERO);
    Grant briefly = take(backend, brief);
    Grant lastingly = take(backend, lasting);
    take(backend, later);
    assertEndsIn(60);

    setClock(Duration.ofSeconds(22));
    assertEquals(2, backend.inspect("job", soon()).holders().size());
    assertInstanceOf(Renewal.Lost.class, backend.renew(briefly, soon()));
    assertFalse(backend.release(brief, soon()));
    assertInstanceOf(Renewal.Confirmed.class, backend.renew(lastingly, soon()));
    assertEndsIn(60);
    assertBusy(writer());

    setClock(Duration.ofSeconds(40));
    assertEquals(1, backend.inspect("job", soon()).holders().size());
    assertBusy(writer());
    setClock(Duration.ofSeconds(84));
    take(backend, writer());
  }

  @Test
  void theKeyLastsAsLongAsTheLastOfThoseThatStillHold() throws Exception {
    Claim brief = claim("job", Share.READ, Duration.ofSeconds(20), Duration.ZERO);
    Claim lasting = claim("job", Share.READ, Duration.ofSeconds(60), Duration.ZERO);
    take(backend, lasting);
    take(backend, brief);
    assertEndsIn(60);
    assertTrue(backend.release(lasting, soon()));
    assertEndsIn(20);
  }

  @Test
  void permitsOfTheDeadComeBack() throws Exception {
    for (int i = 0; i < 3; i++) {
      take(backend, claim("job", Share.ofSemaphore(1, 4), Duration.ofSeconds(20), Duration.ZERO));
    }
    Grant alive = take(backend, permits(1, 4));
    assertBusy(permits(1, 4));
    setClock(Duration.ofSeconds(21));
    assertInstanceOf(Renewal.Confirmed.class, backend.renew(alive, soon()));
    assertBusy(permits(4, 4));
    take(backend, permits(3, 4));
    assertBusy(permits(1, 4));
  }

  /** The server does nothing else while a script runs. */
  @Test
  void manyThatHaveEndedAreDroppedAThousandAtATime() throws Exception {
    take(backend, permits(1, 3_001));
    redis.call(
        "EVAL",
        """
        local now = redis.call('TIME')[1] * 1000
        for i = 1, 3000 do
          redis.call('ZADD', KEYS[1], now - 10000, 'id' .. i .. '|1|dead', -i, 'id' .. i)
        end
        redis.call('ZADD', KEYS[1], 3001, 'v2|semaphore|3001')""",
        "1",
        LOCK);
    redis.call("CONFIG", "RESETSTAT");
    take(backend, permits(3_000, 3_001));
    long scripts =
        CALLS
            .matcher((String) redis.call("INFO", "commandstats"))
            .results()
            .filter(call -> call.group(1).startsWith("eval"))
            .mapToLong(call -> Long.parseLong(call.group(2)))
            .sum();
    assertTrue(scripts >= 3 && scripts < 10, () -> scripts + " scripts");
  }

  @Test
  void manyAreRenewedAtOnceOfAllKinds() throws Exception {
    List<Grant> grants = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      grants.add(take(backend, claim("job " + i)));
      grants.add(take(backend, claim("read " + i / 10, Share.READ)));
      grants.add(take(backend, claim("permits " + i / 5, Share.ofSemaphore(2, 10))));
    }
    assertTrue(backend.release(grants.get(31).claim(), soon()));
    redis.call("SCRIPT", "FLUSH");
    List<Renewal> outcomes = backend.renewAll(grants, soon());
    for (int i = 0; i < grants.size(); i++) {
      Class<?> expected = i == 31 ? Renewal.Lost.class : Renewal.Confirmed.class;
      assertInstanceOf(expected, outcomes.get(i), "number " + i);
    }
  }

  // --- lost replies ----------------------------------------------------------------------------

  @Test
  void anAcquisitionThatIsSentTwiceIsGrantedOnce() throws Exception {
    for (Share share : List.of(Share.WRITE, Share.ofSemaphore(2, 4), Share.READ)) {
      Claim claim = claim("job", share);
      long first = take(backend, claim).token();
      setClock(Duration.ofSeconds(10));
      long second = take(backend, claim).token();
      assertTrue(second > first);
      assertEndsIn(30);
      LockState state = backend.inspect("job", soon());
      assertEquals(1, state.holders().size());
      assertEquals(second, state.fencingToken().orElseThrow());
      if (share.kind() == LockKind.SEMAPHORE) {
        assertBusy(permits(3, 4));
        Claim rest = permits(2, 4);
        take(backend, rest);
        assertTrue(take(backend, claim).token() > second, "although nothing is left");
        assertTrue(backend.release(rest, soon()));
      }
      assertTrue(backend.release(claim, soon()));
      assertFalse(backend.release(claim, soon()));
      assertEquals(Set.of(FENCE), redis.keys().keySet());
      setClock(Duration.ZERO);
    }
  }

  /** A pipeline sends such an undo for a caller that has withdrawn. */
  @Test
  void whatUndoesAnAcquisitionEndsItsHoldAndNoOther() throws Exception {
    RedisUri uri = new RedisUri(LockUri.parse(redis.uri()), Duration.ofSeconds(10));
    LockKeys keys = LockKeys.of("interlock", "job");
    Claim other = permits(1, 3);
    take(backend, other);
    try (Nodes nodes =
        PooledNodes.of(
            uri.pool(uri.server(), uri.servers.clientConfig(0)), PooledNode.NEVER_JOINED)) {
      byte[] minute = ScriptCall.number(60_000);
      ScriptCall call =
          new ScriptCall(
                  Script.SHARE_ACQUIRE,
                  keys.of(Script.SHARE_ACQUIRE),
                  StoredClaim.of(permits(2, 3), "interlock").identity())
              .with(minute, minute, ScriptCall.number(0));
      Wire.Call acquire = new Wire.Call(call, keys);
      assertInstanceOf(Long.class, nodes.run(acquire, soon()));
      assertBusy(permits(1, 3));
      assertEquals("released", Wire.text(nodes.run(acquire.undo(), soon())));
    }
    take(backend, permits(2, 3));
    assertTrue(backend.release(other, soon()));
  }

  @Test
  void aReleaseOfAClaimThatWasNeverGrantedTouchesNothing() throws Exception {
    Grant reader = take(backend, reader());
    for (Claim claim : List.of(reader(), writer(), permits(1, 2), claim("job"))) {
      assertFalse(backend.release(claim, soon()));
      assertFalse(backend.release(claim("free", claim.share()), soon()));
    }
    assertInstanceOf(Renewal.Confirmed.class, backend.renew(reader, soon()));
    assertBusy(writer());
  }

  // --- one kind, one capacity ------------------------------------------------------------------

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5})
  void whoeverUsesTheNameInAnotherWayIsToldAndLeavesNothing(int number) throws Exception {
    List<Share> uses = uses();
    Share existing = uses.get(number);
    Claim holder = claim("job", existing);
    Grant grant = take(backend, holder);
    Object before = contents();
    for (Share other : uses) {
      for (Duration reservation : List.of(Duration.ZERO, WAIT)) {
        if (!other.agreesWith(existing)) {
          Claim claim = claim("job", other, Backends.TTL, reservation);
          LockConfigurationException e =
              assertThrows(
                  LockConfigurationException.class, () -> backend.tryAcquire(claim, soon()));
          assertEquals(other.disagreement("job", existing).getMessage(), e.getMessage());
          assertFalse(backend.release(claim, soon()));
          assertInstanceOf(Renewal.Lost.class, backend.renew(Grant.forTtl(claim, 1), soon()));
          assertEquals(before, contents());
        }
      }
    }
    assertInstanceOf(Renewal.Confirmed.class, backend.renew(grant, soon()));
    assertTrue(backend.release(holder, soon()));
    for (Share other : uses) {
      Claim claim = claim("job", other);
      take(backend, claim);
      assertTrue(backend.release(claim, soon()));
    }
  }

  private static List<Share> uses() {
    return List.of(
        Share.EXCLUSIVE,
        Share.READ,
        Share.WRITE,
        Share.ofSemaphore(1, 1),
        Share.ofSemaphore(2, 3),
        Share.ofSemaphore(3, 3));
  }

  private static Object contents() throws IOException {
    return redis.call("TYPE", LOCK).equals("string")
        ? String.valueOf(redis.call("GET", LOCK))
        : String.valueOf(redis.call("ZRANGE", LOCK, "0", "-1", "WITHSCORES"));
  }

  /** Clients that wait for a reader are notified of its release, and others may be quicker. */
  @Test
  void aNameMayBecomeAnythingWhenNobodyHoldsItAndNobodyIsRemembered() throws Exception {
    for (Share next : List.of(Share.EXCLUSIVE, Share.ofSemaphore(1, 3), Share.ofSemaphore(1, 1))) {
      setClock(Duration.ZERO);
      Claim reader = reader();
      take(backend, reader);
      assertBusy(waiting(Share.WRITE));
      assertTrue(backend.release(reader, soon()));
      assertFalse(backend.inspect("job", soon()).isHeld());
      assertFalse(backend.forceRelease("job", soon()));
      assertFalse(backend.revoke("job", soon()));
      Claim claim = claim("job", next);
      LockConfigurationException e =
          assertThrows(LockConfigurationException.class, () -> backend.tryAcquire(claim, soon()));
      assertEquals(next.disagreement("job", Share.READ).getMessage(), e.getMessage());
      Claim writer = waiting(Share.WRITE);
      take(backend, writer);
      assertBusy(waiting(Share.READ));
      assertTrue(backend.release(writer, soon()));

      setClock(Duration.ofSeconds(7));
      take(backend, claim);
      assertEquals(next.kind(), backend.inspect("job", soon()).kind().orElseThrow());
      assertTrue(backend.release(claim, soon()));
      assertEquals(Set.of(FENCE), redis.keys().keySet());
    }
  }

  // --- waiters ---------------------------------------------------------------------------------

  @Test
  void nobodyOvertakesAWriterThatWaits() throws Exception {
    Claim first = reader();
    take(backend, first);
    assertBusy(waiting(Share.WRITE));
    assertBusy(reader());
    assertTrue(backend.release(first, soon()));
    assertBusy(reader());
    take(backend, waiting(Share.WRITE));
  }

  @Test
  void aWriterThatNoLongerWaitsKeepsReadersOutNoLongerThanItSaid() throws Exception {
    take(backend, reader());
    assertBusy(waiting(Share.WRITE));
    Attempt.Busy busy = assertBusy(reader());
    assertTrue(busy.retryAfter().compareTo(Duration.ofSeconds(7)) < 0, busy::toString);
    setClock(Duration.ofSeconds(7));
    take(backend, reader());
    assertBusy(writer());
  }

  /** A waiter that is not forgotten would be remembered until the clock shows its time again. */
  @Test
  void aWaiterIsForgottenIfTheClockIsSetBack() throws Exception {
    setClock(Duration.ofHours(1));
    Claim first = reader();
    take(backend, first);
    assertBusy(waiting(Share.WRITE));
    assertBusy(reader());
    setClock(Duration.ZERO);
    take(backend, reader());
    assertBusy(waiting(Share.WRITE));
    assertBusy(reader());
  }

  @Test
  void aCallerThatDoesNotWaitKeepsNobodyOut() throws Exception {
    take(backend, reader());
    assertBusy(writer());
    take(backend, reader());
  }

  @Test
  void afterAWriterThoseReadersComeFirstThatWereRefusedMeanwhile() throws Exception {
    Claim first = writer();
    take(backend, first);
    assertBusy(waiting(Share.READ));
    setClock(Duration.ofSeconds(1));
    assertBusy(waiting(Share.WRITE));
    assertTrue(backend.release(first, soon()));

    Attempt.Busy busy = assertBusy(waiting(Share.WRITE));
    assertTrue(busy.retryAfter().compareTo(Duration.ofMillis(300)) < 0, busy::toString);
    take(backend, waiting(Share.READ));
    take(backend, reader());
    setClock(Duration.ofSeconds(2));
    assertBusy(waiting(Share.READ));
    assertBusy(waiting(Share.WRITE));
  }

  @Test
  void readersThatNoLongerWaitKeepAWriterOutForAMoment() throws Exception {
    Claim first = writer();
    take(backend, first);
    assertBusy(waiting(Share.READ));
    assertTrue(backend.release(first, soon()));
    assertBusy(waiting(Share.WRITE));
    setClock(Duration.ofSeconds(1));
    take(backend, waiting(Share.WRITE));
  }

  /** Each side comes after the other, however many claims wait on each. */
  @Test
  void writersAndReadersTakeTurns() throws Exception {
    Duration clock = Duration.ZERO;
    Claim writer = writer();
    take(backend, writer);
    assertBusy(waiting(Share.READ));
    for (int round = 0; round < 5; round++) {
      clock = clock.plusSeconds(1);
      setClock(clock);
      assertBusy(waiting(Share.WRITE));
      assertBusy(waiting(Share.READ));
      assertTrue(backend.release(writer, soon()));
      assertBusy(waiting(Share.WRITE));
      List<Claim> readers = List.of(waiting(Share.READ), waiting(Share.READ), reader());
      for (Claim reader : readers) {
        take(backend, reader);
      }
      clock = clock.plusSeconds(1);
      setClock(clock);
      assertBusy(waiting(Share.WRITE));
      assertBusy(waiting(Share.READ));
      for (Claim reader : readers) {
        assertTrue(backend.release(reader, soon()));
        assertBusy(waiting(Share.READ));
      }
      writer = waiting(Share.WRITE);
      take(backend, writer);
    }
  }

  @Test
  void whoeverWaitsForManyPermitsIsOvertakenByThoseThatFitBesideItOnly() throws Exception {
    Claim three = permits(3, 6);
    take(backend, three);
    Claim one = permits(1, 6);
    take(backend, one);
    assertBusy(waiting(Share.ofSemaphore(5, 6)));
    assertBusy(permits(2, 6));
    assertBusy(permits(1, 6));
    assertTrue(backend.release(three, soon()));
    assertBusy(permits(1, 6));
    take(backend, waiting(Share.ofSemaphore(5, 6)));
    assertTrue(backend.release(one, soon()));
    take(backend, permits(1, 6));
  }

  @Test
  void permitsOfEachNumberHaveTheirTurn() throws Exception {
    Claim all = permits(5, 5);
    take(backend, all);
    Duration clock = Duration.ZERO;
    for (int weight : new int[] {3, 1, 5}) {
      assertBusy(waiting(Share.ofSemaphore(weight, 5)));
      clock = clock.plusMillis(500);
      setClock(clock);
    }
    assertTrue(backend.release(all, soon()));
    assertBusy(waiting(Share.ofSemaphore(5, 5)));
    Claim one = waiting(Share.ofSemaphore(1, 5));
    take(backend, one);
    Claim three = waiting(Share.ofSemaphore(3, 5));
    take(backend, three);
    assertBusy(waiting(Share.ofSemaphore(3, 5)));
    clock = clock.plusSeconds(1);
    setClock(clock);
    assertBusy(waiting(Share.ofSemaphore(1, 5)));
    assertTrue(backend.release(three, soon()));
    assertBusy(waiting(Share.ofSemaphore(1, 5)));
    assertBusy(waiting(Share.ofSemaphore(3, 5)));
    assertTrue(backend.release(one, soon()));
    take(backend, waiting(Share.ofSemaphore(5, 5)));
  }

  // --- administration --------------------------------------------------------------------------

  @Test
  void inspectShowsAllHoldersInTheOrderOfTheirGrants() throws Exception {
    assertFalse(backend.inspect("job", soon()).isHeld());
    List<Grant> grants = new ArrayList<>();
    for (int weight : new int[] {3, 1, 2}) {
      grants.add(take(backend, permits(weight, 9)));
    }
    LockState state = backend.inspect("job", soon());
    assertEquals(LockKind.SEMAPHORE, state.kind().orElseThrow());
    assertEquals(OptionalInt.of(9), state.limit());
    assertEquals(
        List.of(3, 1, 2),
        state.holders().stream().map(holder -> holder.permits().orElse(0)).toList());
    assertEquals(
        grants.stream().map(Grant::token).toList(),
        state.holders().stream().map(holder -> holder.fencingToken().orElseThrow()).toList());
    for (LockState.Holder holder : state.holders()) {
      assertEquals("host/1/test", holder.label().orElseThrow());
      long remaining = holder.remaining().orElseThrow().toMillis();
      assertTrue(remaining > 20_000 && remaining <= 30_000, () -> remaining + " ms");
      assertTrue(holder.heldSince().isPresent());
    }
  }

  @Test
  void aListingHasNamesOfAllKindsThatAreHeld() throws Exception {
    take(backend, claim("a lock"));
    take(backend, claim("b readers", Share.READ));
    take(backend, claim("b readers", Share.READ));
    take(backend, claim("c writer", Share.WRITE));
    take(backend, claim("d permits", Share.ofSemaphore(2, 3)));
    Claim gone = claim("e gone", Share.READ);
    take(backend, gone);
    backend.tryAcquire(claim("e gone", Share.WRITE, Backends.TTL, WAIT), soon());
    assertTrue(backend.release(gone, soon()));
    Map<String, Integer> found =
        backend.list("", null, 1000, soon()).locks().stream()
            .collect(Collectors.toMap(LockState::name, state -> state.holders().size()));
    assertEquals(Map.of("a lock", 1, "b readers", 2, "c writer", 1, "d permits", 1), found);
  }

  @Test
  void aForcedReleaseEndsAllHolds() throws Exception {
    Grant first = take(backend, reader());
    Grant second = take(backend, reader());
    assertTrue(backend.forceRelease("job", soon()));
    assertFalse(backend.forceRelease("job", soon()));
    for (Grant grant : List.of(first, second)) {
      assertInstanceOf(Renewal.Lost.class, backend.renew(grant, soon()));
      assertFalse(backend.release(grant.claim(), soon()));
    }
    assertTrue(take(backend, writer()).token() > second.token());
  }

  @Test
  void whatIsRevokedCannotBeRenewedAndLetsNobodyInUntilAllHaveEnded() throws Exception {
    Grant first = take(backend, claim("job", Share.READ, Duration.ofSeconds(20), Duration.ZERO));
    Grant second = take(backend, reader());
    Grant third = take(backend, reader());
    assertTrue(backend.revoke("job", soon()));
    assertTrue(backend.revoke("job", soon()), "already revoked, and still held");
    for (Grant grant : List.of(first, second, third)) {
      Renewal.Lost gone = assertInstanceOf(Renewal.Lost.class, backend.renew(grant, soon()));
      assertEquals("the lock was revoked", gone.detail());
    }
    for (LockState.Holder holder : backend.inspect("job", soon()).holders()) {
      assertEquals("host/1/test (revoked)", holder.label().orElseThrow());
    }
    assertBusy(reader());
    assertTrue(backend.release(third.claim(), soon()), "given up early");
    assertFalse(backend.release(third.claim(), soon()));
    assertBusy(reader());
    setClock(Duration.ofSeconds(21));
    assertBusy(reader());
    assertBusy(writer());
    setClock(Duration.ofSeconds(31));
    take(backend, reader());
  }

  @Test
  void theLastOfTheRevokedMayEndItEarly() throws Exception {
    Claim three = permits(3, 9);
    Claim four = permits(4, 9);
    take(backend, three);
    take(backend, four);
    assertTrue(backend.revoke("job", soon()));
    assertTrue(backend.release(three, soon()));
    assertBusy(permits(1, 9));
    assertTrue(backend.release(four, soon()));
    take(backend, permits(9, 9));
    assertTrue(backend.revoke("job", soon()));
    assertTrue(backend.forceRelease("job", soon()));
    take(backend, permits(9, 9));
  }

  /** A waiter must not be able to prolong it. */
  @Test
  void whatIsRevokedEndsForThoseWhoWait() throws Exception {
    take(backend, reader());
    assertTrue(backend.revoke("job", soon()));
    setClock(Duration.ofSeconds(29));
    assertBusy(waiting(Share.WRITE));
    setClock(Duration.ofSeconds(31));
    take(backend, waiting(Share.WRITE));
  }

  // --- what is stored ---------------------------------------------------------------------------

  @Test
  void aLabelMayHaveBarsAndAnyUnicode() throws Exception {
    for (String label : List.of("revoked|zürich|7|main 🔒", "|", "line|1:2:3")) {
      Claim claim =
          new Claim("job", reader().id(), Backends.TTL, true, label, 0, Share.READ, Duration.ZERO);
      Grant grant = take(backend, claim);
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(grant, soon()));
      assertEquals(
          label,
          backend.inspect("job", soon()).holder().flatMap(LockState.Holder::label).orElseThrow());
      assertTrue(backend.revoke("job", soon()));
      assertEquals(
          label + " (revoked)",
          backend.inspect("job", soon()).holder().flatMap(LockState.Holder::label).orElseThrow());
      assertTrue(backend.release(claim, soon()));
    }
  }

  @ParameterizedTest
  @CsvSource({"v3|semaphore|5, format 3", "v33|whatever, format 33", "scores, a zset"})
  void aSortedSetOfALaterVersionOrOfAnotherProgramIsRefusedAndLeftAlone(String head, String what)
      throws Exception {
    redis.call("ZADD", LOCK, "1", head);
    redis.call("PEXPIRE", LOCK, "60000");
    for (Claim claim : List.of(claim("job"), reader(), writer(), permits(1, 5))) {
      LockConfigurationException e =
          assertThrows(LockConfigurationException.class, () -> backend.tryAcquire(claim, soon()));
      assertTrue(e.getMessage().contains(what), e::getMessage);
      assertFalse(backend.release(claim, soon()));
      assertInstanceOf(Renewal.Lost.class, backend.renew(Grant.forTtl(claim, 1), soon()));
    }
    for (Admin action : Admin.values()) {
      LockConfigurationException e =
          assertThrows(LockConfigurationException.class, () -> action.on(backend));
      assertTrue(e.getMessage().contains(what), e::getMessage);
    }
    assertEquals(List.of(head), redis.call("ZRANGE", LOCK, "0", "-1"));
    assertEquals(Set.of(LOCK), redis.keys().keySet());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "somebody", "v2|whatever|app", "v3|whatever|app"})
  void aValueThatIsNoLockOfThisVersionIsRefusedAndLeftAlone(String value) throws Exception {
    redis.call("SET", LOCK, value, "PX", "60000");
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> backend.tryAcquire(reader(), soon()));
    String what = value.startsWith("v") ? "format " + value.charAt(1) : "not a lock";
    assertTrue(e.getMessage().contains(what), e::getMessage);
    assertEquals(value, redis.call("GET", LOCK));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "seven", "v3|4711"})
  void aFenceThatIsNoTokenIsNamedBeforeAnythingIsWritten(String value) throws Exception {
    redis.call("SET", FENCE, value);
    assertThrows(LockConfigurationException.class, () -> backend.tryAcquire(reader(), soon()));
    assertEquals(Set.of(FENCE), redis.keys().keySet());
  }

  private enum Admin {
    INSPECT {
      @Override
      void on(LockBackend backend) throws InterruptedException {
        var unused = backend.inspect("job", soon());
      }
    },
    FORCE_RELEASE {
      @Override
      void on(LockBackend backend) throws InterruptedException {
        backend.forceRelease("job", soon());
      }
    },
    REVOKE {
      @Override
      void on(LockBackend backend) throws InterruptedException {
        backend.revoke("job", soon());
      }
    };

    abstract void on(LockBackend backend) throws InterruptedException;
  }

  // --- what it costs ---------------------------------------------------------------------------

  @SuppressWarnings("ImmutableEnumChecker") // a record of constants
  enum Kind {
    READER(Share.READ),
    PERMIT(Share.ofSemaphore(1, 100_000));

    final Share share;

    Kind(Share share) {
      this.share = share;
    }
  }

  @ParameterizedTest
  @EnumSource
  void theWorkForOneDoesNotGrowWithTheNumberOfThoseThatHold(Kind kind) throws Exception {
    workOfOne(kind.share); // from now on the server knows the scripts
    Map<String, Long> besideFew = workOfOne(kind.share);
    for (int i = 0; i < 1000; i++) {
      take(backend, claim("job", kind.share));
    }
    assertEquals(besideFew, workOfOne(kind.share));
    assertEquals(3, besideFew.get("evalsha"), "one request each");
  }

  private Map<String, Long> workOfOne(Share share) throws Exception {
    Claim claim = claim("job", share);
    Grant grant = take(backend, claim);
    redis.call("CONFIG", "RESETSTAT");
    assertInstanceOf(Renewal.Confirmed.class, backend.renew(grant, soon()));
    assertTrue(backend.release(claim, soon()));
    take(backend, claim("job", share));
    Map<String, Long> calls =
        CALLS
            .matcher((String) redis.call("INFO", "commandstats"))
            .results()
            .collect(
                Collectors.toMap(call -> call.group(1), call -> Long.parseLong(call.group(2))));
    // A release shortens the key's time only if no other hold ends as late.
    calls.keySet().removeAll(Set.of("config|resetstat", "info", "pexpireat"));
    return calls;
  }

  /** The keys expire as those of an exclusive lock do. */
  @Test
  void aServerWithoutMemoryStillRenewsAndReleases() throws Exception {
    Claim first = permits(1, 3);
    Claim second = permits(2, 3);
    Grant grant = take(backend, first);
    take(backend, second);
    assertBusy(waiting(Share.ofSemaphore(2, 3)));
    redis.call("CONFIG", "SET", "maxmemory", "1");
    try {
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(grant, soon()));
      assertTrue(backend.release(second, soon()));
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(grant, soon()));
      assertTrue(backend.release(first, soon()));
    } finally {
      redis.call("CONFIG", "SET", "maxmemory", "0");
    }
  }

  // --- helpers ----------------------------------------------------------------------------------

  private static Claim reader() {
    return claim("job", Share.READ);
  }

  private static Claim writer() {
    return claim("job", Share.WRITE);
  }

  private static Claim permits(int weight, int limit) {
    return claim("job", Share.ofSemaphore(weight, limit));
  }

  /** An attempt of a caller that waits. */
  private static Claim waiting(Share share) {
    return claim("job", share, Backends.TTL, WAIT);
  }

  private Attempt.Busy assertBusy(Claim claim) throws InterruptedException {
    return assertInstanceOf(Attempt.Busy.class, backend.tryAcquire(claim, soon()));
  }

  private static void assertEndsIn(int seconds) throws IOException {
    long remaining = (Long) redis.call("PTTL", LOCK);
    assertTrue(
        remaining > (seconds - 5) * 1000L && remaining <= seconds * 1000L, () -> remaining + " ms");
  }
}
