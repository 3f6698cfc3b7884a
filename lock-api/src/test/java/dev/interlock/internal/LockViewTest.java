package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LeasedLock;
import dev.interlock.LockTimeoutException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;

// The lock itself is tested, so unlocking in finally would hide failures.
@SuppressWarnings("LockNotBeforeTry")
class LockViewTest extends EngineFixture {

  @Test
  void theWaitOfAnInterruptedLockCounts() throws Exception {
    store.occupy("a", TTL.multipliedBy(100));
    Duration wait = Duration.ofSeconds(6);
    Lock view = engine.lock("a", like(RENEWED.toBuilder().waitTimeout(wait).build())).asLock();
    Background<Boolean> waiter =
        inBackground(
            () -> {
              assertThrows(LockTimeoutException.class, view::lock);
              return Thread.interrupted();
            });
    Waits.until("the watch", () -> store.watchers() == 1);
    time.advance(wait.minusMillis(1));
    waiter.thread.interrupt();
    time.advance(Duration.ofMillis(1));
    assertTrue(waiter.get());
  }

  @Test
  void isReentrantPerThreadWhicheverViewIsUsed() throws Exception {
    engine.lock("a").asLock().lock();
    assertTrue(engine.lock("a").asLock().tryLock());
    assertTrue(engine.lock("a").asLock().tryLock(1, TimeUnit.SECONDS));
    engine.lock("a").asLock().lockInterruptibly();
    assertEquals(1, store.calls(FakeStore.Op.ACQUIRE));
    assertFalse(inBackground(() -> engine.lock("a").asLock().tryLock()).get());
    for (int i = 0; i < 4; i++) {
      assertTrue(store.holds("a"));
      engine.lock("a").asLock().unlock();
    }
    assertFalse(store.holds("a"));
    assertEquals(0, engine.acquirer.threadHolds.size());
  }

  @Test
  void unlockByAnotherThreadIsRefused() throws Exception {
    Lock view = engine.lock("a").asLock();
    view.lock();
    Background<Void> other =
        inBackground(
            () -> {
              view.unlock();
              return null;
            });
    assertEquals(
        IllegalMonitorStateException.class,
        assertThrows(java.util.concurrent.ExecutionException.class, other::get)
            .getCause()
            .getClass());
    view.unlock();
    assertThrows(IllegalMonitorStateException.class, view::unlock);
    assertThrows(UnsupportedOperationException.class, view::newCondition);
  }

  @Test
  void lockIgnoresInterruptsAndKeepsTheStatus() throws Exception {
    Lock view = engine.lock("a").asLock();
    Thread.currentThread().interrupt();
    view.lock();
    assertTrue(Thread.interrupted());
    view.unlock();
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, view::lockInterruptibly);
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> view.tryLock(1, TimeUnit.SECONDS));
    assertFalse(store.holds("a"));
  }

  @Test
  void aTimeOfZeroOrLessTriesOnce() throws Exception {
    Lock view = engine.lock("a").asLock();
    assertTrue(view.tryLock(0, TimeUnit.SECONDS));
    assertFalse(inBackground(() -> engine.lock("a").asLock().tryLock(-1, TimeUnit.SECONDS)).get());
    view.unlock();
  }

  @Test
  void whenTheLeaseIsLostEveryUnlockThrowsAndTheLastEndsTheHold() {
    Lock view = engine.lock("a", like(FIXED)).asLock();
    view.lock();
    view.lock();
    time.advance(TTL);
    assertThrows(LeaseLostException.class, view::lock);
    assertThrows(LeaseLostException.class, view::unlock);
    assertThrows(LeaseLostException.class, view::unlock);
    assertThrows(IllegalMonitorStateException.class, view::unlock);
    view.lock();
    view.unlock();
  }

  @Test
  void theHolderHasOneLeaseUntilItsLastUnlock() throws Exception {
    LeasedLock view = engine.lock("a").asLock();
    assertEquals(Optional.empty(), view.lease());
    view.lock();
    Lease lease = view.lease().orElseThrow();
    view.lock();
    assertSame(lease, engine.lock("a").asLock().lease().orElseThrow());
    assertEquals(Optional.empty(), inBackground(view::lease).get());
    view.unlock();
    assertTrue(lease.isHeld());
    view.unlock();
    assertFalse(lease.isHeld());
    assertEquals(Optional.empty(), view.lease());
  }

  @Test
  void aLostLeaseIsShownUntilTheLastUnlock() {
    LeasedLock view = engine.lock("a", like(FIXED)).asLock();
    view.lock();
    Lease lease = view.lease().orElseThrow();
    time.advance(TTL);
    assertSame(lease, view.lease().orElseThrow());
    assertFalse(lease.isHeld());
    assertThrows(LeaseLostException.class, view::unlock);
    assertEquals(Optional.empty(), view.lease());
  }

  @Test
  void aReleaseOfTheLeaseLeavesTheHoldToItsLastUnlock() throws Exception {
    LeasedLock view = engine.lock("a").asLock();
    view.lock();
    view.lock();
    view.lease().orElseThrow().release();
    assertFalse(store.holds("a"));
    assertThrows(IllegalStateException.class, view::lock);
    assertThrows(IllegalStateException.class, view::unlock);
    view.unlock();
    assertThrows(IllegalMonitorStateException.class, view::unlock);
    view.lock();
    assertTrue(store.holds("a"));
    view.unlock();
  }
}
