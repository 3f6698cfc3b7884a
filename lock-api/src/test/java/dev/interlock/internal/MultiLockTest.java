package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class MultiLockTest extends EngineFixture {

  private static final Duration HUNDRED_TTLS = TTL.multipliedBy(100);

  @Test
  void namesAreTakenOnceInTheOrderOfTheirCodePoints() throws Exception {
    // U+1F512 sorts after U+FB01 by code point, and before it by UTF-16 unit.
    List<String> names = List.of("\uD83D\uDD12", "\uFB01", "b", "a", "b");
    try (MultiLease lease = engine.multiLock(names).acquire()) {
      assertEquals(List.of("a", "b", "\uFB01", "\uD83D\uDD12"), lease.names());
      assertTrue(lease.fencingToken("a") < lease.fencingToken("b"));
      assertThrows(IllegalArgumentException.class, () -> lease.fencingToken("c"));
      assertThrows(UnsupportedOperationException.class, lease::fencingToken);
      assertTrue(lease.isHeld());
    }
    assertFalse(store.holds("a") || store.holds("b"));
  }

  @Test
  void anIncompleteSetIsReleased() throws Exception {
    store.occupy("b", HUNDRED_TTLS);
    assertEquals(Optional.empty(), engine.multiLock(List.of("a", "b")).tryAcquire());
    assertFalse(store.holds("a"));
  }

  @Test
  void acquiredMembersAreRenewedDuringTheWaitForOthersAndOnceBeforeTheGrant() throws Exception {
    store.occupy("b", HUNDRED_TTLS);
    Background<MultiLease> waiter =
        inBackground(() -> engine.multiLock(List.of("a", "b"), like(FIXED)).acquire());
    Waits.until("the watch", () -> store.watchers() == 1);
    for (int i = 0; i < 9; i++) {
      int renewals = store.calls(FakeStore.Op.RENEW);
      time.advance(TTL.dividedBy(3));
      // The renewal is late if the end of the last one was recorded only now.
      advanceUntil("a renewal", () -> store.calls(FakeStore.Op.RENEW) > renewals);
      assertTrue(store.holds("a"));
    }
    time.advance(Duration.ofSeconds(1));
    store.free("b");
    MultiLease lease = waiter.get();
    assertEquals(TTL, lease.remainingValidity());
    int renewals = store.calls(FakeStore.Op.RENEW);
    time.advance(TTL.minusMillis(1));
    assertTrue(lease.isHeld());
    assertEquals(renewals, store.calls(FakeStore.Op.RENEW), "fixed TTLs are not renewed");
    time.advance(Duration.ofMillis(1));
    assertFalse(lease.isHeld());
    assertEquals(LossReason.EXPIRED, get(lease.onLoss()).reason());
  }

  @Test
  void aSetIsAcquiredAgainIfARenewalBeforeTheGrantIsNotAnswered() throws Exception {
    Background<MultiLease> waiter = acquireWithTheStoreDownBeforeTheGrant();
    long from = time.nanoTime();
    advanceUntil("half the TTL", () -> time.nanoTime() - from > TTL.dividedBy(2).toNanos());
    assertFalse(waiter.result.isDone());
    store.down(false);
    advanceUntil("the set", waiter.result::isDone);
    try (MultiLease lease = waiter.get()) {
      assertTrue(store.holds("a") && store.holds("b") && store.holds("c"));
      assertTrue(lease.isHeld());
    }
  }

  @Test
  void aStoreThatIsDownBeforeTheGrantEndsTheAcquisitionAfterOneTtl() throws Exception {
    Background<MultiLease> waiter = acquireWithTheStoreDownBeforeTheGrant();
    long from = time.nanoTime();
    advanceUntil("the end", waiter.result::isDone);
    ExecutionException failure = assertThrows(ExecutionException.class, waiter::get);
    assertEquals(LockUnavailableException.class, failure.getCause().getClass());
    long waited = time.nanoTime() - from;
    assertTrue(
        waited >= TTL.toNanos() && waited < TTL.plusSeconds(2).toNanos(),
        () -> Duration.ofNanos(waited).toString());
  }

  /** Acquires all three, and lets the store fail from their renewal on. */
  private Background<MultiLease> acquireWithTheStoreDownBeforeTheGrant() {
    store.onNextCall(
        FakeStore.Op.RENEW,
        () -> {
          store.down(true);
          throw FakeStore.noAnswer();
        });
    Background<MultiLease> waiter =
        inBackground(() -> engine.multiLock(List.of("a", "b", "c"), like(FIXED)).acquire());
    Waits.until("the renewal", () -> store.calls(FakeStore.Op.RENEW) > 0);
    return waiter;
  }

  @Test
  void aSetTakesOneRequestForEachNameAndOneForAll() throws Exception {
    try (MultiLease lease = engine.multiLock(List.of("a", "b", "c")).tryAcquire().orElseThrow()) {
      assertEquals(3, store.calls(FakeStore.Op.ACQUIRE));
      assertEquals(1, store.calls(FakeStore.Op.RENEW));
      assertEquals(List.of(2), store.batches());
      lease.renew();
      assertEquals(List.of(2, 3), store.batches());
    }
  }

  @Test
  void aLostAnswerBeforeTheGrantDoesNotEndATimedAttempt() throws Exception {
    store.loseReply(FakeStore.Op.RENEW);
    Background<Optional<MultiLease>> waiter =
        inBackground(() -> engine.multiLock(List.of("a", "b")).tryAcquire(TTL));
    advanceUntil("the set", waiter.result::isDone);
    try (MultiLease lease = waiter.get().orElseThrow()) {
      assertTrue(lease.isHeld());
    }
  }

  @Test
  void anAttemptAtASetIsBounded() {
    store.slow(FakeStore.Op.ACQUIRE, REQUEST_TIMEOUT.dividedBy(4));
    long from = time.nanoTime();
    assertThrows(
        LockUnavailableException.class, () -> engine.multiLock(many(20)).tryAcquire().isPresent());
    assertEndedBy(from, REQUEST_TIMEOUT);
  }

  @Test
  void aTimedAttemptAtASetIsBounded() {
    store.slow(FakeStore.Op.ACQUIRE, REQUEST_TIMEOUT.dividedBy(4));
    long from = time.nanoTime();
    Duration timeout = Duration.ofSeconds(2);
    assertThrows(
        LockUnavailableException.class,
        () -> engine.multiLock(many(20)).tryAcquire(timeout).isPresent());
    assertEndedBy(from, timeout.plus(REQUEST_TIMEOUT));
  }

  private void assertEndedBy(long from, Duration max) {
    Duration took = Duration.ofNanos(time.nanoTime() - from);
    assertTrue(took.compareTo(max) <= 0, () -> "took " + took);
    Waits.until("nothing to be left", () -> engine.residue() == 0);
  }

  private static List<String> many(int count) {
    return IntStream.range(0, count).mapToObj(i -> "m" + i).toList();
  }

  @Test
  void aMemberLostDuringTheWaitForOthersIsAcquiredAgain() throws Exception {
    store.occupy("b", HUNDRED_TTLS);
    Background<MultiLease> waiter =
        inBackground(() -> engine.multiLock(List.of("a", "b"), like(RENEWED)).acquire());
    Waits.until("the watch", () -> store.watchers() == 1);
    store.delete("a");
    store.free("b");
    advanceUntil("the set", waiter.result::isDone); // it pauses before it starts again
    try (MultiLease lease = waiter.get()) {
      assertTrue(store.holds("a") && store.holds("b"));
      assertTrue(lease.isHeld());
    }
  }

  @Test
  void aMemberLostWithNoTimeLeftIsAFailureAndNothingIsHeld() throws Exception {
    store.occupy("b", HUNDRED_TTLS);
    Background<Optional<MultiLease>> waiter =
        inBackground(() -> engine.multiLock(List.of("a", "b"), like(FIXED)).tryAcquire(TTL));
    Waits.until("the watch", () -> store.watchers() == 1);
    FakeStore.Gate gate = store.gate(FakeStore.Op.RENEW);
    store.delete("a");
    store.free("b");
    gate.awaitArrival();
    time.advance(TTL);
    gate.open();
    ExecutionException failure = assertThrows(ExecutionException.class, waiter::get);
    assertEquals(LockUnavailableException.class, failure.getCause().getClass());
    Waits.until("all to be free", () -> !store.holds("a") && !store.holds("b"));
  }

  @Test
  void theLossOfOneMemberEndsTheSetAndReleasesTheOthers() throws Exception {
    MultiLease lease = engine.multiLock(List.of("a", "b", "c")).acquire();
    store.delete("b");
    time.advance(TTL.dividedBy(3));
    assertEquals(LossReason.TAKEN, get(lease.onLoss()).reason());
    assertFalse(lease.isHeld());
    Waits.until("the rest to be free", () -> !store.holds("a") && !store.holds("c"));
    assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
  }

  @Test
  void releaseIsIdempotentAndSignalsNoLoss() throws Exception {
    MultiLease lease = engine.multiLock(List.of("a", "b")).tryAcquire().orElseThrow();
    assertEquals(ReleaseOutcome.RELEASED, lease.release());
    assertEquals(ReleaseOutcome.RELEASED, lease.release());
    assertFalse(lease.onLoss().isDone());
  }

  @Test
  void namesAreChecked() {
    assertThrows(IllegalArgumentException.class, () -> engine.multiLock(List.of()));
    assertThrows(IllegalArgumentException.class, () -> engine.multiLock(List.of("a", "")));
  }
}
