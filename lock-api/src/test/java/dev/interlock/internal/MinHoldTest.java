package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;

class MinHoldTest extends EngineFixture {

  private static final Duration MIN_HOLD = TTL.multipliedBy(3);

  private final long begun = time.nanoTime();

  private static void kept(LockOptions.Builder options) {
    options.minHold(MIN_HOLD);
  }

  private boolean hasPassed() {
    return time.nanoTime() - begun >= MIN_HOLD.toNanos();
  }

  private void assertFreedOnlyWhenItHasPassed() {
    advanceUntil(
        "the lock is free",
        () -> {
          boolean passed = hasPassed();
          boolean taken = store.holds("a");
          assertTrue(taken || passed, "the lock was free before its minimum hold had passed");
          return !taken;
        });
  }

  @Test
  void aReleaseThatComesEarlyKeepsTheLockForTheMinimumAndNoLonger() throws Exception {
    Lease lease = engine.lock("a", MinHoldTest::kept).acquire();
    assertEquals(ReleaseOutcome.DEFERRED, lease.release());
    assertEquals(ReleaseOutcome.DEFERRED, lease.release());
    assertFalse(lease.isHeld());
    assertThrows(IllegalStateException.class, lease::ensureHeld);
    assertTrue(engine.lock("a").tryAcquire().isEmpty());
    assertEquals(
        List.of(lease.fencingToken()),
        engine.leases().stream().map(held -> held.fencingToken().orElseThrow()).toList());
    assertFreedOnlyWhenItHasPassed();
    Waits.until("nothing is left of it", () -> engine.residue() == 0);
    assertFalse(lease.onLoss().isDone());
  }

  @Test
  void afterTheMinimumAReleaseIsLikeAnyOther() throws Exception {
    Lease lease = engine.lock("a", MinHoldTest::kept).acquire();
    while (!hasPassed()) {
      time.advance(TTL.dividedBy(3));
      lease.renew();
    }
    assertEquals(ReleaseOutcome.RELEASED, lease.release());
  }

  @Test
  void aReleaseWithoutBlockingIsDeferredAsWell() throws Exception {
    Lease lease = engine.lock("a", MinHoldTest::kept).acquire();
    assertEquals(ReleaseOutcome.DEFERRED, get(lease.releaseAsync()));
    assertFreedOnlyWhenItHasPassed();
  }

  @Test
  void aWaiterOfTheSameClientGetsItWhenTheMinimumHasPassed() throws Exception {
    Lease first = engine.lock("a", MinHoldTest::kept).acquire();
    CompletableFuture<Lease> waiting = engine.lock("a").acquireAsync();
    assertEquals(ReleaseOutcome.DEFERRED, first.release());
    advanceUntil(
        "the waiter has it",
        () -> {
          boolean passed = hasPassed();
          boolean done = waiting.isDone();
          assertTrue(passed || !done, "the lock was handed off before its minimum hold had passed");
          return done;
        });
    Lease second = get(waiting);
    assertTrue(second.fencingToken() > first.fencingToken());
    second.close();
  }

  @Test
  void aThreadThatUnlocksEarlyHasToWaitLikeOthers() {
    Lock lock = engine.lock("a", MinHoldTest::kept).asLock();
    lock.lock();
    try {
      assertTrue(store.holds("a"));
    } finally {
      lock.unlock();
    }
    assertFalse(lock.tryLock());
    assertFreedOnlyWhenItHasPassed();
  }

  @Test
  void aSetIsKeptAsAWhole() throws Exception {
    MultiLease set = engine.multiLock(List.of("a", "b"), MinHoldTest::kept).acquire();
    assertEquals(ReleaseOutcome.DEFERRED, set.release());
    assertTrue(store.holds("b"));
    assertFreedOnlyWhenItHasPassed();
    Waits.until("the other is free as well", () -> !store.holds("b"));
  }

  @Test
  void aSetThatIsNotCompletedIsNotKept() throws Exception {
    Lease other = engine.lock("b").acquire();
    assertTrue(engine.multiLock(List.of("a", "b"), MinHoldTest::kept).tryAcquire().isEmpty());
    assertFalse(store.holds("a"));
    other.close();
  }

  @Test
  void aLossMeanwhileIsNoEventOfTheReleasedLease() throws Exception {
    BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
    engine.onEvent(events::add);
    Lease lease = engine.lock("a", MinHoldTest::kept).acquire();
    next(events, LockEvent.Acquired.class);
    lease.release();
    assertEquals(ReleaseOutcome.DEFERRED, next(events, LockEvent.Released.class).outcome());
    assertTrue(engine.admin().forceRelease("a"));
    advanceUntil("the client knows", () -> engine.residue() == 0);
    engine.lock("a").acquire().close();
    next(events, LockEvent.Acquired.class);
    assertFalse(lease.onLoss().isDone());
  }

  @Test
  void aLockWithoutRenewalIsKeptForTheMinimumOnASessionAsWell() throws Exception {
    store.onSessionsValidityPerConfirmation(TTL.dividedBy(3));
    store.slow(FakeStore.Op.ACQUIRE, REQUEST_TIMEOUT.dividedBy(2));
    Lease lease = engine.lock("a", options -> options.autoRenew(false).minHold(TTL)).acquire();
    long granted = time.nanoTime();
    assertEquals(ReleaseOutcome.DEFERRED, lease.release());
    advanceUntil(
        "the lock is free",
        () -> {
          boolean passed = time.nanoTime() - granted >= TTL.toNanos();
          boolean taken = store.holds("a");
          assertTrue(taken || passed, "the lock was free before its minimum hold had passed");
          return !taken;
        });
  }

  @Test
  void aWallClockThatIsSetForwardDoesNotFreeItEarly() throws Exception {
    engine.lock("a", options -> options.minHold(MIN_HOLD).maxHold(MIN_HOLD)).acquire().close();
    time.sleepMachine(TTL.multipliedBy(2)); // to the client this looks like sleep
    assertFreedOnlyWhenItHasPassed();
    Waits.until("nothing is left of it", () -> engine.residue() == 0);
  }

  @Test
  void afterASleepTheStoreSaysWhetherItIsStillThere() throws Exception {
    engine.lock("a", MinHoldTest::kept).acquire().close();
    store.delete("a");
    time.sleepMachine(TTL.multipliedBy(2));
    advanceUntil("the client knows", () -> engine.residue() == 0);
    assertFalse(hasPassed());
  }

  @Test
  void aDrainWaitsForTheMinimum() throws Exception {
    engine.lock("a", MinHoldTest::kept).acquire().close();
    Lease other = engine.lock("b", MinHoldTest::kept).acquire();
    Background<Boolean> closing =
        inBackground(
            () -> {
              engine.close(MIN_HOLD.plus(TTL));
              return true;
            });
    time.awaitAsleep(closing.thread);
    assertEquals(ReleaseOutcome.DEFERRED, other.release());
    assertFreedOnlyWhenItHasPassed();
    assertTrue(closing.get());
    assertFalse(store.holds("b"));
  }

  @Test
  void closingFreesItAtOnce() throws Exception {
    engine.lock("a", MinHoldTest::kept).acquire().close();
    engine.close();
    assertFalse(store.holds("a"));
  }

  @Test
  void aMinimumThatCannotBeKeptIsRefused() {
    LockOptions.Builder builder = LockOptions.builder().minHold(Duration.ofMinutes(2));
    builder.maxHold(Duration.ofMinutes(1));
    assertEquals(
        "minHold must be at most maxHold, which is PT1M, not PT2M",
        assertThrows(IllegalArgumentException.class, builder::build).getMessage());
    builder.maxHold(null).autoRenew(false);
    assertEquals(
        "without autoRenew, minHold must be at most the ttl, which is PT30S, not PT2M",
        assertThrows(IllegalArgumentException.class, builder::build).getMessage());
    assertThrows(
        LockConfigurationException.class, () -> LockClient.open("memory:x?minHold=2m&maxHold=1m"));
  }
}
