package dev.interlock.redis;

import static dev.interlock.redis.Backends.claim;
import static dev.interlock.redis.Backends.isBusy;
import static dev.interlock.redis.Backends.soon;
import static dev.interlock.redis.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The effects of the scripts, seen from the backend and from the server. */
class RedisBackendTest {

  private static final String LOCK = "interlock:{job}";
  private static final String FENCE = "interlock:{job}:fence";

  @AutoClose private static final RedisServer redis = Testbed.redis().start();
  @AutoClose private LockBackend backend;

  @BeforeEach
  void open() throws IOException {
    redis.call("FLUSHALL");
    backend = Backends.open(redis.uri());
  }

  @Test
  void aFreeLockIsGrantedWithATokenAndItsKeyExpiresWithTheTtl() throws Exception {
    Claim claim = claim("job");
    Grant grant = take(backend, claim);

    assertEquals(claim.id() + "|host/1/test", redis.call("GET", LOCK));
    assertTrue(pttl(LOCK) > 20_000 && pttl(LOCK) <= 30_000);
    assertEquals(Long.toString(grant.token()), redis.call("GET", FENCE));
    assertEquals(Backends.TTL, grant.effectiveTtl());
    assertTrue(grant.expiresOnStore());
  }

  @Test
  void aBusyLockNamesItsHolder() throws Exception {
    take(backend, claim("job"));
    Attempt busy = backend.tryAcquire(claim("job"), soon());
    assertEquals("host/1/test", assertInstanceOf(Attempt.Busy.class, busy).holder());
    assertTrue(backend.revoke("job", soon()));
    busy = backend.tryAcquire(claim("job"), soon());
    assertEquals("host/1/test (revoked)", assertInstanceOf(Attempt.Busy.class, busy).holder());
  }

  @Test
  void theTokenIsTheServersTimeInSixteenthsOfAMillisecond() throws Exception {
    long before = tokenOfServerTime();
    long token = take(backend, claim("job")).token();
    assertTrue(before <= token && token <= tokenOfServerTime());
  }

  @Test
  void theFenceIsRememberedForAnHourAfterTheLeaseCanHaveEnded() throws Exception {
    for (Duration ttl : List.of(Duration.ofSeconds(30), Duration.ofHours(5))) {
      redis.call("FLUSHALL");
      Grant grant = take(backend, claim("job", ttl));
      long rest = ttl.plus(Duration.ofHours(1)).toMillis();
      assertTrue(pttl(FENCE) > rest - 10_000 && pttl(FENCE) <= rest);

      redis.call("PEXPIRE", FENCE, "20000");
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(grant, soon()));
      assertTrue(pttl(FENCE) > rest - 10_000 && pttl(FENCE) <= rest);
    }
  }

  /** The fence goes by the same clock as the tokens, so it is there for as long as it is needed. */
  @Test
  void tokensRiseWhereverTheClockIsSetWhileTheLockIsHeldAndAnHourLater() throws Exception {
    try (RedisServer moved =
            Testbed.firstAvailable(Testbed.redis().clockAhead(Duration.ZERO), Testbed.redis());
        LockBackend there = Backends.open(moved.uri())) {
      assumeTrue(moved.canSetClock() || Testbed.requiresAll(), "a wrong clock needs a C compiler");
      moved.setClock(Duration.ofHours(9));
      long token = take(there, claim("job", Duration.ofHours(2))).token();
      // Past an hour after the grant, and not past an hour after the end of the lease.
      moved.setClock(Duration.ofMinutes(9 * 60 + 170));
      assertFalse(there.inspect("job", soon()).isHeld());
      assertEquals(Long.toString(token), moved.call("GET", FENCE));
      moved.setClock(Duration.ZERO);
      assertTrue(take(there, claim("job")).token() > token);
    }
  }

  @Test
  void aTokenIsOneMoreThanTheLastWhereTheClockIsBehindIt() throws Exception {
    redis.call("SET", FENCE, "4503599627370496");
    assertEquals(4503599627370497L, take(backend, claim("job")).token());
    assertEquals("4503599627370497", redis.call("GET", FENCE));
  }

  @Test
  void tokensRiseWhenTheFenceIsLost() throws Exception {
    Claim first = claim("job");
    long token = take(backend, first).token();
    backend.release(first, soon());
    redis.call("DEL", FENCE);
    assertTrue(take(backend, claim("job")).token() > token);
  }

  @Test
  void aHeldLockIsBusyForWhatIsLeftOfItsTtlAndNothingRemainsOfTheAttempt() throws Exception {
    Claim holder = claim("job");
    long token = take(backend, holder).token();
    Attempt attempt = backend.tryAcquire(claim("job"), soon());

    Duration remaining = assertInstanceOf(Attempt.Busy.class, attempt).retryAfter();
    assertTrue(remaining.toMillis() > 20_000 && remaining.toMillis() <= 30_001);
    assertEquals(holder.id() + "|host/1/test", redis.call("GET", LOCK));
    assertEquals(Long.toString(token), redis.call("GET", FENCE));
  }

  @Test
  void validityEndsBeforeTheServerLetsGo() throws Exception {
    long before = System.nanoTime();
    Grant grant = take(backend, claim("job"));
    long after = System.nanoTime();
    // The TTL less a thousandth of it and 2 ms, counted from when the request was sent.
    long sentAt = grant.validUntil() - Backends.TTL.toNanos() + 32_000_000;
    assertTrue(sentAt - before >= 0 && after - sentAt >= 0, () -> sentAt - before + " ns");
  }

  @Test
  void aVeryShortTtlIsServedLongerOnTheServerButNotValidForLonger() throws Exception {
    long before = System.nanoTime();
    Grant grant = take(backend, claim("job", Duration.ofMillis(5)));
    assertEquals(Duration.ofMillis(20), grant.effectiveTtl());
    assertTrue(grant.validUntil() - before >= Duration.ofMillis(5).toNanos());
    assertTrue(grant.validUntil() - System.nanoTime() <= Duration.ofMillis(5).toNanos());
  }

  @Test
  void fractionsOfAMillisecondAreKeptByTheServerInFull() throws Exception {
    Grant grant = take(backend, claim("job", Duration.ofNanos(50_000_001)));
    assertEquals(Duration.ofMillis(51), grant.effectiveTtl());
  }

  @Test
  void anAcquisitionThatIsSentTwiceIsGrantedOnce() throws Exception {
    Claim claim = claim("job");
    long first = take(backend, claim).token();
    redis.call("PEXPIRE", LOCK, "5000");
    long second = take(backend, claim).token();
    assertTrue(second > first);
    assertTrue(pttl(LOCK) > 20_000);
    assertTrue(backend.release(claim, soon()));
    assertNull(redis.call("GET", LOCK));
  }

  @Test
  void releaseFreesTheLockAndKeepsTheFence() throws Exception {
    Claim claim = claim("job");
    Grant grant = take(backend, claim);
    assertTrue(backend.release(claim, soon()));
    assertNull(redis.call("GET", LOCK));
    assertEquals(Long.toString(grant.token()), redis.call("GET", FENCE));
    assertFalse(backend.release(claim, soon()));
  }

  @Test
  void anotherClaimsLockIsNotReleasedOrRenewed() throws Exception {
    Claim former = claim("job");
    Grant lost = take(backend, former);
    redis.call("DEL", LOCK);
    Claim holder = claim("job");
    take(backend, holder);

    assertFalse(backend.release(former, soon()));
    assertEquals(
        LossReason.TAKEN,
        assertInstanceOf(Renewal.Lost.class, backend.renew(lost, soon())).reason());
    assertEquals(holder.id() + "|host/1/test", redis.call("GET", LOCK));
  }

  @Test
  void aReleaseOfAClaimThatWasNeverGrantedTouchesNothing() throws Exception {
    take(backend, claim("job"));
    assertFalse(backend.release(claim("job"), soon()));
    assertTrue(isBusy(backend, "job"));
  }

  @Test
  void renewalExtendsTheTtlFromNow() throws Exception {
    Grant grant = take(backend, claim("job"));
    redis.call("PEXPIRE", LOCK, "10000");
    long before = System.nanoTime();
    assertInstanceOf(Renewal.Confirmed.class, backend.renew(grant, soon()));
    long remaining = pttl(LOCK);
    Duration since = Duration.ofNanos(System.nanoTime() - before);
    assertTrue(
        remaining <= 30_000 && remaining + since.toMillis() >= 29_999,
        () -> remaining + " after " + since);
  }

  @Test
  void renewalNeverBringsALockBack() throws Exception {
    Grant grant = take(backend, claim("job"));
    redis.call("DEL", LOCK);
    assertInstanceOf(Renewal.Lost.class, backend.renew(grant, soon()));
    assertNull(redis.call("GET", LOCK));
  }

  @Test
  void manyAreRenewedAtOnceEachWithItsOutcome() throws Exception {
    List<Grant> grants = new ArrayList<>();
    for (int i = 0; i < 256; i++) {
      grants.add(take(backend, claim("job " + i)));
    }
    redis.call("DEL", "interlock:{job 7}");
    redis.call("SCRIPT", "FLUSH");

    List<Renewal> outcomes = backend.renewAll(grants, soon());

    assertEquals(256, outcomes.size());
    for (int i = 0; i < 256; i++) {
      Class<?> expected = i == 7 ? Renewal.Lost.class : Renewal.Confirmed.class;
      assertInstanceOf(expected, outcomes.get(i), "number " + i);
    }
  }

  @Test
  void aScriptThatTheServerHasForgottenIsSentAgain() throws Exception {
    Claim claim = claim("job");
    Grant grant = take(backend, claim);
    redis.call("SCRIPT", "FLUSH");
    assertTrue(isBusy(backend, "job"));
    redis.call("SCRIPT", "FLUSH");
    assertInstanceOf(Renewal.Confirmed.class, backend.renew(grant, soon()));
    redis.call("SCRIPT", "FLUSH");
    assertTrue(backend.inspect("job", soon()).isHeld());
    redis.call("SCRIPT", "FLUSH");
    assertTrue(backend.release(claim, soon()));
  }

  @Test
  void aDeferredReleaseKeepsTheLockForItsTimeWithoutTheClaim() throws Exception {
    Claim claim = claim("job");
    Grant grant = take(backend, claim);
    assertFalse(backend.releaseAfter(claim("job"), Duration.ofHours(1), soon()));
    for (int i = 0; i < 2; i++) { // the second answers a request that is sent again
      assertTrue(backend.releaseAfter(claim, Duration.ofHours(2).plusNanos(1), soon()));
      long remaining = pttl(LOCK) - Duration.ofHours(2).toMillis();
      assertTrue(remaining > -20_000 && remaining <= 1, () -> remaining + " ms");
      assertTrue(pttl(FENCE) > pttl(LOCK) + Duration.ofMinutes(59).toMillis());
    }
    assertInstanceOf(Renewal.Lost.class, backend.renew(grant, soon()));
    assertFalse(backend.release(claim, soon()));
    LockState state = backend.inspect("job", soon());
    assertEquals("host/1/test", state.holder().flatMap(LockState.Holder::label).orElseThrow());
    assertEquals(grant.token(), state.fencingToken().orElseThrow());
    assertInstanceOf(Attempt.Busy.class, backend.tryAcquire(claim("job"), soon()));
    assertTrue(backend.forceRelease("job", soon()));
    assertTrue(take(backend, claim("job")).token() > grant.token());
    assertFalse(backend.releaseAfter(claim, Duration.ofHours(1), soon()));
  }

  @Test
  void aRevokedLockIsNotKeptAnyLonger() throws Exception {
    Claim claim = claim("job");
    take(backend, claim);
    assertTrue(backend.revoke("job", soon()));
    assertFalse(backend.releaseAfter(claim, Duration.ofHours(1), soon()));
    assertTrue(pttl(LOCK) <= Backends.TTL.toMillis());
  }

  @Test
  void aForcedReleaseFreesTheLockAndNeverTouchesTheFence() throws Exception {
    Claim holder = claim("job");
    long token = take(backend, holder).token();
    assertTrue(backend.forceRelease("job", soon()));
    assertFalse(backend.forceRelease("job", soon()));
    assertEquals(Long.toString(token), redis.call("GET", FENCE));
    assertTrue(take(backend, claim("job")).token() > token);
  }

  @Test
  void aRevokedLockCannotBeRenewedAndStaysClosedForTheRestOfItsTtl() throws Exception {
    Grant grant = take(backend, claim("job"));
    redis.call("PEXPIRE", LOCK, "20000");
    assertTrue(backend.revoke("job", soon()));
    assertTrue(backend.revoke("job", soon()), "already revoked, and still held");

    Renewal.Lost gone = assertInstanceOf(Renewal.Lost.class, backend.renew(grant, soon()));
    assertEquals("the lock was revoked", gone.detail());
    assertTrue(isBusy(backend, "job"));
    assertTrue(pttl(LOCK) > 10_000 && pttl(LOCK) <= 20_000);
    assertEquals(
        "host/1/test (revoked)",
        backend.inspect("job", soon()).holder().flatMap(LockState.Holder::label).orElseThrow());
  }

  @Test
  void theHolderOfARevokedLockMayStillGiveItUpEarly() throws Exception {
    Claim claim = claim("job");
    take(backend, claim);
    backend.revoke("job", soon());
    assertFalse(backend.release(claim("job"), soon()), "another claim");
    assertTrue(backend.release(claim, soon()));
    assertNull(redis.call("GET", LOCK));
  }

  @Test
  void aRevokedLockCanBeForced() throws Exception {
    take(backend, claim("job"));
    backend.revoke("job", soon());
    assertTrue(backend.forceRelease("job", soon()));
    assertFalse(backend.inspect("job", soon()).isHeld());
  }

  @Test
  void aFreeLockCannotBeRevoked() throws Exception {
    assertFalse(backend.revoke("job", soon()));
    assertEquals(List.of(), keys());
  }

  @Test
  void inspectShowsHolderTokenAndRemainingTime() throws Exception {
    assertFalse(backend.inspect("job", soon()).isHeld());
    Grant grant = take(backend, claim("job"));
    LockState state = backend.inspect("job", soon());
    assertTrue(state.isHeld());
    assertEquals("host/1/test", state.holder().flatMap(LockState.Holder::label).orElseThrow());
    assertEquals(grant.token(), state.fencingToken().orElseThrow());
    assertTrue(state.remaining().orElseThrow().toMillis() > 20_000);
  }

  @Test
  void aHolderLabelMayHaveBarsAndAnyUnicode() throws Exception {
    Claim claim =
        new Claim(
            "job",
            claim("job").id(),
            Backends.TTL,
            true,
            "revoked|zürich|7|main 🔒",
            System.nanoTime());
    take(backend, claim);
    assertEquals(
        "revoked|zürich|7|main 🔒",
        backend.inspect("job", soon()).holder().flatMap(LockState.Holder::label).orElseThrow());
    backend.revoke("job", soon());
    assertEquals(
        "revoked|zürich|7|main 🔒 (revoked)",
        backend.inspect("job", soon()).holder().flatMap(LockState.Holder::label).orElseThrow());
    assertTrue(backend.release(claim, soon()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"LPUSH", "SADD"})
  void aKeyOfAnotherTypeUnderTheLocksNameIsNamedAndLeftAlone(String command) throws Exception {
    redis.call(command, LOCK, "mine");
    for (Action action : Action.values()) {
      LockConfigurationException e =
          assertThrows(
              LockConfigurationException.class, () -> action.on(backend), action::toString);
      assertTrue(e.getMessage().contains("\"" + LOCK + "\""), e::getMessage);
      assertTrue(e.getMessage().contains("delete that key"), e::getMessage);
    }
    assertFalse(backend.release(claim("job"), soon()));
    assertInstanceOf(Renewal.Lost.class, backend.renew(someGrant(), soon()));
    assertEquals(List.of(LOCK), keys());
  }

  @Test
  void aValueOfAnotherProgramUnderTheLocksNameIsNamedAndLeftAlone() throws Exception {
    for (String value : List.of("", "17", "somebody", "abc|def")) {
      redis.call("SET", LOCK, value, "PX", "60000");
      for (Action action : Action.values()) {
        LockConfigurationException e =
            assertThrows(LockConfigurationException.class, () -> action.on(backend));
        assertTrue(e.getMessage().contains("\"" + LOCK + "\""), e::getMessage);
      }
      assertFalse(backend.release(claim("job"), soon()));
      assertEquals(value, redis.call("GET", LOCK));
      assertEquals(List.of(LOCK), keys());
    }
  }

  @Test
  void aLockWithoutExpiryWouldNeverEndAndIsRefused() throws Exception {
    redis.call("SET", LOCK, claim("job").id() + "|somebody");
    for (Action action : List.of(Action.ACQUIRE, Action.REVOKE, Action.INSPECT)) {
      LockConfigurationException e =
          assertThrows(LockConfigurationException.class, () -> action.on(backend));
      assertTrue(e.getMessage().contains("does not expire"), e::getMessage);
    }
    assertTrue(backend.forceRelease("job", soon()), "the way out");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-1", "1.5", "1e3", "seven", "9007199254740992", " 1", "0x10"})
  void aFenceThatIsNoTokenIsNamedBeforeAnythingIsWritten(String value) throws Exception {
    redis.call("SET", FENCE, value);
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> Action.ACQUIRE.on(backend));
    assertTrue(e.getMessage().contains("\"" + FENCE + "\""), e::getMessage);
    assertEquals(List.of(FENCE), keys());
    assertEquals(value, redis.call("GET", FENCE));
  }

  @Test
  void aFenceOfAnotherTypeIsNamedBeforeAnythingIsWritten() throws Exception {
    redis.call("LPUSH", FENCE, "1");
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> Action.ACQUIRE.on(backend));
    assertTrue(e.getMessage().contains("\"" + FENCE + "\" holds a list"), e::getMessage);
    assertEquals(List.of(FENCE), keys());
  }

  @Test
  void namesThatLookLikeEachOtherAreDifferentLocks() throws Exception {
    List<String> names =
        List.of(
            "a",
            "A",
            "a/",
            "a/b",
            "{a}",
            "%7Ba%7D",
            "a}",
            "a}:fence",
            "a:fence",
            " a",
            "a ",
            "*",
            "?",
            "é",
            "e\u0301",
            "\u0000",
            "\n",
            "%",
            "%25",
            "🔒",
            "\u200B",
            "|",
            "a\u200Bb");
    for (String name : names) {
      take(backend, claim(name));
    }
    assertEquals(2 * names.size(), new HashSet<>(keys()).size());
  }

  @Test
  void namespacesAndDatabasesAreIndependent() throws Exception {
    take(backend, claim("job"));
    try (LockBackend other = Backends.open(redis.uri() + "?namespace=other");
        LockBackend third = Backends.open(redis.uri() + "/3")) {
      take(other, claim("job"));
      take(third, claim("job"));
      assertTrue(keys().contains("other:{job}"));
      assertTrue(isBusy(other, "job"));
      assertTrue(isBusy(third, "job"));
    }
  }

  private enum Action {
    ACQUIRE {
      @Override
      void on(LockBackend backend) throws InterruptedException {
        backend.tryAcquire(claim("job"), soon());
      }
    },
    INSPECT {
      @Override
      void on(LockBackend backend) throws InterruptedException {
        backend.inspect("job", soon());
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

  private static Grant someGrant() {
    return Grant.forTtl(claim("job"), 1);
  }

  private static long pttl(String key) throws IOException {
    return (Long) redis.call("PTTL", key);
  }

  private static List<?> keys() throws IOException {
    return (List<?>) redis.call("KEYS", "*");
  }

  private static long tokenOfServerTime() throws IOException {
    List<?> time = (List<?>) redis.call("TIME");
    return Long.parseLong((String) time.get(0)) * 16_000
        + Long.parseLong((String) time.get(1)) * 16 / 1000;
  }
}
