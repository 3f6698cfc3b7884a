package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

class LeaseValidityTest extends EngineFixture {

  @Test
  void aWallClockThatIsSetBackDoesNotHideSleepFromAMaximumHold() throws Exception {
    Lease lease = acquire(RENEWED.toBuilder().maxHold(Duration.ofSeconds(30)).build());
    time.sleepMachine(Duration.ofSeconds(-20));
    for (int i = 1; i < 10; i++) {
      lease.renew();
      time.sleepMachine(Duration.ofSeconds(1));
      time.pass(Duration.ofSeconds(2));
    }
    lease.renew();
    time.sleepMachine(Duration.ofSeconds(1));
    time.pass(Duration.ofMillis(3_100));
    assertFalse(lease.isHeld());
  }

  @Test
  void validityIsCountedFromBeforeTheGrantingRequestWasSent() throws Exception {
    store.onNextCall(FakeStore.Op.ACQUIRE, () -> time.pass(Duration.ofMillis(300)));
    try (Lease lease = acquire(FIXED)) {
      assertEquals(TTL.minusMillis(300), lease.remainingValidity());
    }
  }

  @Test
  void validityIsCountedFromBeforeTheRenewingRequestWasSent() throws Exception {
    try (Lease lease = acquire(FIXED)) {
      time.advance(Duration.ofSeconds(5));
      store.onNextCall(FakeStore.Op.RENEW, () -> time.pass(Duration.ofMillis(300)));
      lease.renew();
      assertEquals(TTL.minusMillis(300), lease.remainingValidity());
    }
  }

  @Test
  void aGrantThatComesAfterItsTtlIsUndoneAndCountsAsNotGranted() {
    store.onNextCall(FakeStore.Op.ACQUIRE, () -> time.pass(TTL));
    LockUnavailableException e =
        assertThrows(
            LockUnavailableException.class, () -> engine.lock("a", like(FIXED)).tryAcquire());
    assertTrue(e.getMessage().contains("came after the TTL"), e.getMessage());
    awaitCalls(FakeStore.Op.RELEASE, 1);
    awaitFree("a");
  }

  @Test
  void aLeaseThatIsNotRenewedEndsAtItsTtlAndSaysSoOnce() throws Exception {
    Lease lease = acquire(FIXED);
    BlockingQueue<LockEvent> events = eventsOf(lease);
    time.advance(TTL.minusNanos(1));
    assertTrue(lease.isHeld());
    assertFalse(lease.onLoss().isDone());
    time.advance(Duration.ofNanos(1));
    assertFalse(lease.isHeld());
    assertEquals(LossReason.EXPIRED, get(lease.onLoss()).reason());
    assertEquals(LossReason.EXPIRED, next(events, LockEvent.Lost.class).loss().reason());
    assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
    assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
    time.advance(TTL);
    assertTrue(events.isEmpty(), () -> "also reported: " + events);
    assertThrows(LeaseLostException.class, lease::ensureHeld);
    assertThrows(LeaseLostException.class, lease::renew);
    assertEquals(0, store.calls(FakeStore.Op.RENEW));
  }

  @Test
  void isHeldTurnsFalseByTheClockAloneBeforeAnyTimerHasRun() throws Exception {
    Lease lease = acquire(FIXED);
    // As in a process that was stopped and continues: the clock has moved, and no thread has run.
    time.pass(TTL);
    assertFalse(lease.isHeld());
    assertEquals(LossReason.EXPIRED, get(lease.onLoss()).reason());
  }

  /**
   * The first attempt may come while the timer, too, has noticed the end and passes the lock on.
   */
  @Test
  void aLeaseFromBeforeAPauseKeepsNoOtherThreadOut() throws Exception {
    Lease lease = acquire(FIXED);
    time.pass(TTL);
    int attempts = 1;
    while (inBackground(() -> engine.lock("a").tryAcquire()).get().isEmpty()) {
      assertTrue(attempts++ < 1_000, "tryAcquire() still finds the lock held");
    }
    assertEquals(LossReason.EXPIRED, get(lease.onLoss()).reason());
  }

  @Test
  void anAnswerFromBeforeAPauseKeepsNoThreadOut() throws Exception {
    var unused = anotherClient().lock("a", like(FIXED)).acquire();
    var waiting = engine.lock("a").acquireAsync();
    Waits.until("it waits", () -> !engine.waiters().isEmpty());
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    time.pass(TTL.multipliedBy(7));
    gate.awaitArrival();
    var attempt = inBackground(() -> engine.lock("a").tryAcquire());
    try {
      Waits.until("it waits", () -> attempt.result.isDone() || time.isAsleep(attempt.thread));
      assertFalse(attempt.result.isDone(), "it got an answer of the store from before the pause");
    } finally {
      gate.open();
    }
    advanceUntil("the waiter has it", waiting::isDone);
    assertTrue(attempt.get().isEmpty());
    assertTrue(get(waiting).isHeld());
  }

  @Test
  void aMachineThatSleptLosesItsLeasesByTheWallClock() throws Exception {
    Lease lease = acquire(FIXED);
    time.sleepMachine(TTL.minusMillis(1));
    assertTrue(lease.isHeld());
    time.sleepMachine(Duration.ofMillis(2));
    assertFalse(lease.isHeld());
    assertEquals(LossReason.SUSPENDED, get(lease.onLoss()).reason());
    awaitFree("a");
  }

  @Test
  void aPauseBetweenTheClocksEndsTheLeaseEarlierAndIsNotCalledSleep() throws Exception {
    Lease lease = acquire(FIXED);
    time.sleepMachine(Duration.ofMillis(50));
    time.advance(TTL.minusMillis(60));
    assertTrue(lease.isHeld());
    time.advance(Duration.ofMillis(20));
    assertFalse(lease.isHeld());
    assertEquals(LossReason.EXPIRED, get(lease.onLoss()).reason());
  }

  @Test
  void aLossByASleepOfTheMachineIsReportedWithinASecond() throws Exception {
    for (LockOptions options : List.of(RENEWED, FIXED)) {
      Lease lease = acquire(options);
      time.advance(Duration.ofMillis(1_200));
      time.sleepMachine(TTL);
      time.advance(Duration.ofSeconds(1));
      assertEquals(LossReason.SUSPENDED, get(lease.onLoss()).reason());
      awaitFree("a");
    }
  }

  @Test
  void aMachineThatSleptForAPartOfTheTtlLosesTheLeaseThatMuchEarlier() throws Exception {
    Lease lease = acquire(FIXED);
    time.sleepMachine(TTL.minusSeconds(3));
    time.advance(Duration.ofSeconds(2));
    assertTrue(lease.isHeld());
    time.advance(Duration.ofSeconds(1).plusMillis(1));
    assertEquals(LossReason.SUSPENDED, get(lease.onLoss()).reason());
  }

  @Test
  void aLeaseThatHasValidityLeftAfterASleepIsRenewedInTime() throws Exception {
    Lease lease = acquire(RENEWED);
    BlockingQueue<LockEvent> events = eventsOf(lease);
    time.sleepMachine(TTL.multipliedBy(2).dividedBy(3));
    time.advance(Duration.ofSeconds(1));
    next(events, LockEvent.AtRisk.class);
    next(events, LockEvent.Renewed.class);
    time.advance(TTL.dividedBy(3));
    assertTrue(lease.isHeld());
    lease.close();
  }

  @Test
  void aPauseBetweenTheClocksBeforeARenewalDoesNotShortenTheValidity() throws Exception {
    InterceptedTime intercepted = new InterceptedTime(time);
    try (DefaultLockClient paused = new DefaultLockClient(store::open, FIXED, intercepted);
        Lease lease = paused.lock("a").acquire()) {
      time.advance(Duration.ofSeconds(1));
      Duration remaining = lease.remainingValidity();
      Duration pause = Duration.ofSeconds(4);
      // The confirmation counts from the second reading.
      intercepted.whenCalledHere(
          "clockOffset", () -> intercepted.whenCalledHere("clockOffset", () -> time.pass(pause)));
      lease.renew();
      assertTrue(intercepted.hasRun());
      assertEquals(remaining.minus(pause), lease.remainingValidity());
    }
  }

  @Test
  void aLeaseThatEndsOnItsWayToAFutureIsNotAskedForAgainWhenTheTimeIsOver() throws Exception {
    InterceptedTime intercepted = new InterceptedTime(time);
    try (DefaultLockClient slow = new DefaultLockClient(store::open, FIXED, intercepted)) {
      intercepted.when("deliver", () -> time.pass(TTL.multipliedBy(2)));
      CompletableFuture<Optional<Lease>> late =
          slow.lock("a").tryAcquireAsync(Duration.ofSeconds(1));
      assertInstanceOf(
          LockUnavailableException.class,
          assertThrows(ExecutionException.class, () -> get(late)).getCause());
      assertTrue(intercepted.hasRun());
      assertEquals(1, store.calls(FakeStore.Op.ACQUIRE));
    }
  }

  @Test
  void theTimerHasNothingToDoWhenNothingIsHeld() throws Exception {
    acquire(RENEWED).close();
    time.advance(Duration.ofSeconds(1));
    assertEquals(0, engine.engine.timer.size());
  }

  @Test
  void theRoundingOfTheWallClockDoesNotCountAsSleep() throws Exception {
    time.pass(Duration.ofNanos(600_000));
    Lease lease = acquire(FIXED.toBuilder().ttl(TTL.plusNanos(500_000)).build());
    // The readings of the wall clock have advanced half a millisecond more than the monotonic
    // clock.
    time.pass(TTL.plusNanos(499_999));
    assertTrue(lease.isHeld());
    time.pass(Duration.ofNanos(1));
    assertFalse(lease.isHeld());
    assertEquals(LossReason.EXPIRED, get(lease.onLoss()).reason());
  }

  @Test
  void sleepBetweenRequestAndReplyOfTheGrantCountsToo() {
    store.onNextCall(FakeStore.Op.ACQUIRE, () -> time.sleepMachine(TTL.plusMillis(1)));
    assertThrows(LockUnavailableException.class, () -> engine.lock("a", like(FIXED)).tryAcquire());
    awaitFree("a");
  }

  @Test
  void theMaximumHoldTimeEndsALeaseThatIsRenewed() throws Exception {
    LockOptions options = RENEWED.toBuilder().maxHold(Duration.ofSeconds(20)).build();
    Lease lease = acquire(options);
    BlockingQueue<LockEvent> events = eventsOf(lease);
    for (int renewal = 1; renewal <= 6; renewal++) {
      time.advance(TTL.dividedBy(3));
      next(events, LockEvent.Renewed.class);
      assertTrue(lease.isHeld(), "after renewal " + renewal);
    }
    assertEquals(Duration.ofSeconds(2), lease.remainingValidity());
    time.advance(Duration.ofSeconds(1));
    assertTrue(lease.isHeld());
    time.advance(Duration.ofSeconds(1));
    assertEquals(LossReason.MAX_HOLD, get(lease.onLoss()).reason());
    awaitFree("a");
  }

  @Test
  void theMaximumHoldTimeCountsWhatTheMachineSleepsWhileItHolds() throws Exception {
    LockOptions options = RENEWED.toBuilder().maxHold(Duration.ofSeconds(20)).build();
    Lease lease = acquire(options);
    BlockingQueue<LockEvent> events = eventsOf(lease);
    for (int renewal = 1; renewal <= 4; renewal++) {
      time.sleepMachine(Duration.ofSeconds(1));
      time.advance(TTL.dividedBy(3));
      next(events, LockEvent.Renewed.class);
    }
    assertEquals(Duration.ofSeconds(4), ofWholeSeconds(lease.remainingValidity()));
    time.advance(Duration.ofSeconds(4).plusMillis(10));
    assertEquals(LossReason.MAX_HOLD, get(lease.onLoss()).reason());
    awaitFree("a");
  }

  @Test
  void theMaximumHoldTimeDoesNotCountWhatTheMachineSleptBefore() throws Exception {
    Lease first = acquire(RENEWED);
    Duration hold = Duration.ofSeconds(1);
    CompletableFuture<Lease> waiting =
        engine.lock("a", like(RENEWED.toBuilder().maxHold(hold).build())).acquireAsync();
    time.sleepMachine(Duration.ofSeconds(2));
    first.close();
    Lease second = get(waiting);
    assertEquals(hold, second.remainingValidity());
    time.advance(hold);
    assertEquals(LossReason.MAX_HOLD, get(second.onLoss()).reason());
    awaitFree("a");
    assertEquals(1, store.calls(FakeStore.Op.ACQUIRE));
  }

  /** Sleep is known to a millisecond or two. */
  private static Duration ofWholeSeconds(Duration duration) {
    return Duration.ofSeconds(Math.round(duration.toMillis() / 1e3));
  }

  private void awaitCalls(FakeStore.Op op, int count) {
    Waits.until(count + " calls of " + op, () -> store.calls(op) >= count);
  }

  private void awaitFree(String name) {
    Waits.until(name + " to be free on the server", () -> !store.holds(name));
  }
}
