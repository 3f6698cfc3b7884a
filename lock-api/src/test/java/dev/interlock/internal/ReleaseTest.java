package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableMap;
import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Claim;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

class ReleaseTest extends EngineFixture {

  @Test
  void releaseIsIdempotentAndNeverTouchesTheSuccessor() throws Exception {
    Lease first = acquire(RENEWED);
    assertEquals(ReleaseOutcome.RELEASED, first.release());
    Lease second = acquire(RENEWED);
    assertEquals(ReleaseOutcome.RELEASED, first.release());
    first.close();
    assertTrue(second.isHeld());
    assertTrue(store.holds("a"));
    assertThrows(IllegalStateException.class, first::ensureHeld);
    assertThrows(IllegalStateException.class, first::renew);
    assertFalse(first.onLoss().isDone());
    second.close();
  }

  @Test
  void anUnreachableStoreMakesTheOutcomeUnknownAndIsAskedAgainInTheBackground() throws Exception {
    Lease lease = acquire(RENEWED);
    BlockingQueue<LockEvent> events = eventsOf(lease);
    store.down(true);
    assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
    assertEquals(ReleaseOutcome.UNKNOWN, next(events, LockEvent.Released.class).outcome());
    assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
    assertFalse(lease.isHeld());
    store.down(false);
    Waits.until(
        "the lock to be free",
        () -> {
          time.advance(Duration.ofMillis(100));
          return !store.holds("a");
        });
    advanceUntil("nothing to be left to do", () -> engine.engine.cleanup.pending() == 0);
    assertFalse(lease.onLoss().isDone());
  }

  @Test
  void aRefusedReleaseIsTriedAgainUntilItIsPermitted() throws Exception {
    Lease lease = acquire(RENEWED);
    store.refuse(true);
    assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
    int refused = store.calls(FakeStore.Op.RELEASE);
    advanceUntil("more tries", () -> store.calls(FakeStore.Op.RELEASE) > refused + 2);
    assertTrue(store.holds("a"));
    store.refuse(false);
    advanceUntil("the release", () -> engine.engine.cleanup.pending() == 0);
    assertFalse(store.holds("a"));
    assertEquals(List.of(), store.endedSessions());
  }

  @Test
  void aReleaseThatIsRefusedForATtlIsLeftToTheEndOfTheTtl() throws Exception {
    Lease lease = acquire(RENEWED);
    store.refuse(true);
    assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
    advanceUntil("nothing to be left to do", () -> engine.engine.cleanup.pending() == 0);
    assertFalse(store.holds("a"));
    assertEquals(List.of(), store.endedSessions());
  }

  @Test
  void aReleaseThatIsRefusedForATtlEndsTheSessionOnWhichTheLockHangs() throws Exception {
    store.onSessions();
    Lease lease = acquire(RENEWED);
    store.refuse(true);
    long from = time.nanoTime();
    assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
    advanceUntil("nothing to be left to do", () -> engine.engine.cleanup.pending() == 0);
    assertTrue(time.nanoTime() - from >= TTL.toNanos(), "ended early");
    assertEquals(List.of(store.lastClaim()), store.endedSessions());
    assertEquals(store.endedSessions(), store.forgotten());
  }

  /** Nobody knows what the store would answer during an outage. */
  @Test
  void anOutageBetweenRefusalsDoesNotCountAsOne() throws Exception {
    store.onSessions();
    Lease lease = acquire(RENEWED);
    store.refuse(true);
    assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
    int refused = store.calls(FakeStore.Op.RELEASE);
    advanceUntil("a refusal", () -> store.calls(FakeStore.Op.RELEASE) > refused);
    store.down(true);
    long from = time.nanoTime();
    advanceUntil("a long outage", () -> time.nanoTime() - from > 2 * TTL.toNanos());
    int unanswered = store.calls(FakeStore.Op.RELEASE);
    advanceUntil("one more try", () -> store.calls(FakeStore.Op.RELEASE) > unanswered);
    store.down(false);
    long back = time.nanoTime();
    advanceUntil("nothing to be left to do", () -> engine.engine.cleanup.pending() == 0);
    assertTrue(time.nanoTime() - back >= TTL.toNanos(), "ended early");
    assertEquals(List.of(store.lastClaim()), store.endedSessions());
  }

  @Test
  void anErrorWhileASessionIsEndedDoesNotEndTheEffort() throws Exception {
    store.onSessions();
    Lease lease = acquire(RENEWED);
    store.refuse(true);
    store.failOnce(new OutOfMemoryError("of the test"));
    assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
    advanceUntil("nothing to be left to do", () -> engine.engine.cleanup.pending() == 0);
    assertEquals(List.of(store.lastClaim()), store.endedSessions());
  }

  @Test
  void aReleaseWhoseReplyIsLostDoesNotTouchTheSuccessorWhenRepeated() throws Exception {
    Lease first = acquire(RENEWED);
    store.loseReply(FakeStore.Op.RELEASE);
    assertEquals(ReleaseOutcome.UNKNOWN, first.release());
    try (Lease second = acquire(RENEWED)) {
      Waits.until("the repetition", () -> engine.engine.cleanup.pending() == 0);
      assertTrue(second.isHeld());
      assertTrue(store.holds("a"));
    }
  }

  @Test
  void aLeaseThatIsGoneWhenItIsReleasedIsReportedAsLost() throws Exception {
    Lease lease = acquire(RENEWED);
    store.delete("a");
    assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
    assertEquals(LossReason.TAKEN, get(lease.onLoss()).reason());
  }

  @Test
  void aTtlThatPassesDuringTheReleaseIsNotReportedAsTaken() throws Exception {
    Lease lease = acquire(FIXED);
    store.onNextCall(FakeStore.Op.RELEASE, () -> time.pass(TTL));
    assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
    assertEquals(LossReason.EXPIRED, get(lease.onLoss()).reason());
  }

  @Test
  void threadsThatReleaseAtTheSameTimeLearnOneOutcome() throws Exception {
    // The unknown outcome comes last, because it is released again in the background.
    ImmutableMap<ReleaseOutcome, Runnable> meanwhile =
        ImmutableMap.of(
            ReleaseOutcome.RELEASED, () -> {},
            ReleaseOutcome.ALREADY_LOST, () -> store.delete("a"),
            ReleaseOutcome.UNKNOWN, () -> store.down(true));
    for (ReleaseOutcome outcome : meanwhile.keySet()) {
      Lease lease = acquire(RENEWED);
      FakeStore.Gate gate = store.gate(FakeStore.Op.RELEASE);
      Background<ReleaseOutcome> first = inBackground(lease::release);
      gate.awaitArrival();
      int requests = store.calls(FakeStore.Op.RELEASE);
      Background<ReleaseOutcome> second = inBackground(lease::release);
      Background<ReleaseOutcome> third = inBackground(lease::release);
      try {
        awaitWaiting(second);
        awaitWaiting(third);
        meanwhile.get(outcome).run();
      } finally {
        gate.open();
      }
      for (Background<ReleaseOutcome> one : List.of(first, second, third)) {
        assertEquals(outcome, one.get());
      }
      assertEquals(outcome, lease.release());
      // An unknown outcome is asked for again, but not by the threads that also released the lease.
      if (outcome != ReleaseOutcome.UNKNOWN) {
        assertEquals(requests, store.calls(FakeStore.Op.RELEASE));
      }
      store.down(false);
      store.delete("a");
    }
  }

  private static void awaitWaiting(Background<?> other) {
    Waits.until(
        "the other to wait",
        () -> other.result.isDone() || other.thread.getState() == Thread.State.WAITING);
  }

  @Test
  void anInterruptedThreadCanReleaseAndKeepsItsInterruptStatus() throws Exception {
    Lease lease = acquire(RENEWED);
    Thread.currentThread().interrupt();
    assertEquals(ReleaseOutcome.RELEASED, lease.release());
    assertTrue(Thread.interrupted());
    assertFalse(store.holds("a"));
  }

  @Test
  void anAcquisitionWhoseReplyIsLostIsUndone() throws Exception {
    store.loseReply(FakeStore.Op.ACQUIRE);
    assertThrows(dev.interlock.LockUnavailableException.class, () -> engine.lock("a").tryAcquire());
    Waits.until("the undo", () -> !store.holds("a") && engine.engine.cleanup.pending() == 0);
  }

  @Test
  void anAcquisitionThatArrivesAfterItsUndoingIsUndoneAgain() throws Exception {
    for (int undone = 1; undone <= 4; undone++) {
      int checks = undone;
      Claim delayed = delayed();
      int before = store.calls(FakeStore.Op.RELEASE);
      undoUntil("the undoing", () -> store.calls(FakeStore.Op.RELEASE) - before >= checks);
      store.arrive(delayed);
      undoUntil("the undoing of what came late", () -> engine.engine.cleanup.pending() == 0);
      assertFalse(store.holds("a"), "after " + undone);
    }
  }

  /**
   * Lets time pass only while the undoing waits for it. If the clock ran away from a thread that
   * the machine has no time for, that thread would stop looking for a request that has not yet
   * arrived.
   */
  private void undoUntil(String what, BooleanSupplier condition) {
    Waits.until(
        what,
        () -> {
          if (engine.engine.timer.size() > 0 && !condition.getAsBoolean()) {
            time.advanceToNext(STEP);
          }
          return condition.getAsBoolean();
        });
  }

  @Test
  void theUndoingOfARequestThatNeverArrivesEnds() throws Exception {
    int before = store.calls(FakeStore.Op.RELEASE);
    Claim delayed = delayed();
    long from = time.nanoTime();
    advanceUntil("the end of the undoing", () -> engine.engine.cleanup.pending() == 0);
    assertTrue(
        time.nanoTime() - from >= engine.engine.requestTimeout().toNanos(), "given up early");
    int checks = store.calls(FakeStore.Op.RELEASE) - before;
    assertTrue(checks > 1 && checks < 50, checks + " checks");
    try (Lease lease = acquire(RENEWED)) {
      assertFalse(lease.onLoss().isDone());
      assertNotEquals(delayed.id(), store.lastClaim().id());
    }
  }

  /** Returns the claim of a failed attempt whose request is still on its way. */
  private Claim delayed() {
    store.onNextCall(
        FakeStore.Op.ACQUIRE,
        () -> {
          throw FakeStore.noAnswer();
        });
    assertThrows(dev.interlock.LockUnavailableException.class, () -> engine.lock("a").tryAcquire());
    return store.lastClaim();
  }

  @Test
  void theUndoOfAnEarlierAttemptNeverTouchesALaterOneOfTheSameClient() throws Exception {
    store.loseReply(FakeStore.Op.ACQUIRE);
    FakeStore.Gate undo = store.gate(FakeStore.Op.RELEASE);
    assertThrows(dev.interlock.LockUnavailableException.class, () -> engine.lock("a").tryAcquire());
    undo.awaitArrival();
    // The lock of the first attempt has expired, and the same client has the lock again, when the
    // undo arrives.
    time.advance(TTL);
    try (Lease lease = acquire(RENEWED)) {
      undo.open();
      advanceUntil("the last undo", () -> engine.engine.cleanup.pending() == 0);
      assertTrue(store.holds("a"));
      assertTrue(lease.isHeld());
    }
  }

  @Test
  void closingTheClientEndsItsWaits() throws Exception {
    Lease lease = acquire(RENEWED);
    store.occupy("b", TTL.multipliedBy(100));
    Background<Lease> local = inBackground(() -> engine.lock("a").acquire());
    Background<Lease> remote = inBackground(() -> engine.lock("b").acquire());
    time.awaitAsleep(local.thread);
    time.awaitAsleep(remote.thread);
    engine.close();
    assertFalse(lease.isHeld());
    for (Background<Lease> waiter : java.util.List.of(local, remote)) {
      Throwable e =
          assertThrows(java.util.concurrent.ExecutionException.class, waiter::get).getCause();
      assertEquals(IllegalStateException.class, e.getClass());
    }
    assertThrows(IllegalStateException.class, () -> engine.lock("a"));
    assertEquals(0, store.watchers());
    engine.close();
  }
}
