package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockUnavailableException;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;

/** Asynchronous renewals and releases. */
class AsyncRequestTest extends EngineFixture {

  private static Throwable failureOf(CompletableFuture<?> future) {
    return assertThrows(ExecutionException.class, () -> get(future)).getCause();
  }

  @Test
  void aLeaseIsNotHeldAnyMoreWhenItsReleaseHasBegun() throws Exception {
    Lease lease = acquire(RENEWED);
    FakeStore.Gate gate = store.gate(FakeStore.Op.RELEASE);
    CompletableFuture<ReleaseOutcome> release = lease.releaseAsync();
    assertFalse(lease.isHeld());
    gate.awaitArrival();
    CompletableFuture<ReleaseOutcome> again = lease.releaseAsync();
    assertFalse(release.isDone() || again.isDone());
    gate.open();
    assertEquals(ReleaseOutcome.RELEASED, get(release));
    assertEquals(ReleaseOutcome.RELEASED, get(again));
    assertEquals(ReleaseOutcome.RELEASED, get(lease.releaseAsync()));
    assertEquals(1, store.calls(FakeStore.Op.RELEASE));
  }

  @Test
  void aReleaseTakesPlaceWhateverBecomesOfItsFuture() throws Exception {
    Lease lease = acquire(RENEWED);
    FakeStore.Gate gate = store.gate(FakeStore.Op.RELEASE);
    assertTrue(lease.releaseAsync().cancel(true));
    gate.awaitArrival();
    gate.open();
    assertEquals(ReleaseOutcome.RELEASED, lease.release());
    assertFalse(store.holds("a"));
  }

  @Test
  void anUnconfirmedReleaseIsRepeatedInTheBackground() throws Exception {
    Lease lease = acquire(RENEWED);
    store.down(true);
    assertEquals(ReleaseOutcome.UNKNOWN, get(lease.releaseAsync()));
    store.down(false);
    advanceUntil("the lock to be free", () -> !store.holds("a"));
  }

  @Test
  void aDependentThatBlocksHoldsUpNoOtherRelease() throws Exception {
    CountDownLatch blocked = new CountDownLatch(1);
    List<CompletableFuture<?>> blocking = new ArrayList<>();
    for (int i = 0; i < 70; i++) {
      Lease lease = engine.lock("n" + i).acquire();
      FakeStore.Gate gate = store.gate(FakeStore.Op.RELEASE);
      CompletableFuture<ReleaseOutcome> release = lease.releaseAsync();
      gate.awaitArrival();
      blocking.add(
          release.thenAccept(
              outcome -> {
                try {
                  assertTrue(blocked.await(30, TimeUnit.SECONDS));
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
              }));
      gate.open();
    }
    assertEquals(ReleaseOutcome.RELEASED, get(acquire(RENEWED).releaseAsync()));
    blocked.countDown();
    for (CompletableFuture<?> each : blocking) {
      get(each);
    }
  }

  @Test
  void aSecondReleaseOccupiesNoThread() throws Exception {
    try (DefaultLockClient busy =
        new DefaultLockClient(store::open, RENEWED, new OneThread(time))) {
      Lease first = busy.lock("a").acquire();
      Lease second = busy.lock("b").acquire();
      MultiLease set = busy.multiLock(List.of("c", "d")).acquire();
      FakeStore.Gate gate = store.gate(FakeStore.Op.RELEASE);
      Background<ReleaseOutcome> blocking = inBackground(first::release);
      gate.awaitArrival();
      CompletableFuture<ReleaseOutcome> again = first.releaseAsync();
      assertEquals(ReleaseOutcome.RELEASED, get(second.releaseAsync()));
      FakeStore.Gate gateOfSet = store.gate(FakeStore.Op.RELEASE);
      Background<ReleaseOutcome> blockingSet = inBackground(set::release);
      gateOfSet.awaitArrival();
      CompletableFuture<ReleaseOutcome> setAgain = set.releaseAsync();
      assertEquals(ReleaseOutcome.RELEASED, get(busy.lock("b").acquire().releaseAsync()));
      assertFalse(again.isDone() || setAgain.isDone());
      gate.open();
      gateOfSet.open();
      assertEquals(ReleaseOutcome.RELEASED, get(again));
      assertEquals(ReleaseOutcome.RELEASED, get(setAgain));
      assertEquals(ReleaseOutcome.RELEASED, blocking.get());
      assertEquals(ReleaseOutcome.RELEASED, blockingSet.get());
    }
  }

  @Test
  void anAsynchronousReleaseServesTheNextWaiterWithoutTheStore() throws Exception {
    Lease lease = acquire(RENEWED);
    CompletableFuture<Lease> next = engine.lock("a").acquireAsync();
    assertEquals(ReleaseOutcome.HANDED_OFF, get(lease.releaseAsync()));
    assertEquals(ReleaseOutcome.HANDED_OFF, lease.release());
    get(next).close();
    assertEquals(1, store.calls(FakeStore.Op.RELEASE));
  }

  @Test
  void allOfASetAreReleasedWithOneFuture() throws Exception {
    MultiLease set = engine.multiLock(List.of("a", "b", "c")).acquire();
    CompletableFuture<ReleaseOutcome> release = set.releaseAsync();
    assertFalse(set.isHeld());
    assertEquals(ReleaseOutcome.RELEASED, get(release));
    assertEquals(ReleaseOutcome.RELEASED, set.release());
    MultiLease wanted = engine.multiLock(List.of("a", "b")).acquire();
    CompletableFuture<Lease> waiter = engine.lock("a").acquireAsync();
    assertEquals(ReleaseOutcome.HANDED_OFF, wanted.release());
    get(waiter).close();
    for (String name : set.names()) {
      assertFalse(store.holds(name), name);
    }
  }

  @Test
  void aReleaseAfterTheClientWasClosedSaysThatTheLeaseWasLost() throws Exception {
    Lease lease = acquire(RENEWED);
    engine.close();
    assertEquals(ReleaseOutcome.ALREADY_LOST, get(lease.releaseAsync()));
    assertInstanceOf(LeaseLostException.class, failureOf(lease.renewAsync()));
  }

  @Test
  void aRenewalExtendsTheLeaseAndFailsAsIfItWereWaitedFor() throws Exception {
    Lease lease = acquire(FIXED);
    MultiLease set = engine.multiLock(List.of("b", "c"), like(FIXED)).acquire();
    time.advance(Duration.ofSeconds(1));
    get(lease.renewAsync());
    get(set.renewAsync());
    assertEquals(TTL, lease.remainingValidity());
    assertEquals(TTL, set.remainingValidity());
    store.down(true);
    assertInstanceOf(LockUnavailableException.class, failureOf(lease.renewAsync()));
    store.down(false);
    lease.release();
    set.release();
    assertInstanceOf(IllegalStateException.class, failureOf(lease.renewAsync()));
    assertInstanceOf(IllegalStateException.class, failureOf(set.renewAsync()));
  }

  @Test
  void aRenewalGoesOnWhenItsFutureIsCancelled() throws Exception {
    Lease lease = acquire(FIXED);
    time.advance(Duration.ofSeconds(1));
    FakeStore.Gate gate = store.gate(FakeStore.Op.RENEW);
    CompletableFuture<?> renewal = lease.renewAsync();
    gate.awaitArrival();
    assertTrue(renewal.cancel(true));
    gate.open();
    Waits.until("the renewal", () -> lease.remainingValidity().equals(TTL));
    assertEquals(ReleaseOutcome.RELEASED, lease.release());
  }

  @Test
  void anAttemptWithoutATimeOutNeedsNoCallerThatWaits() throws Exception {
    Lease lease = get(engine.lock("a").tryAcquireAsync()).orElseThrow();
    assertEquals(Optional.empty(), get(engine.lock("a").tryAcquireAsync()));
    assertEquals(1, store.calls(FakeStore.Op.ACQUIRE));
    assertEquals(Optional.empty(), get(engine.multiLock(List.of("a", "b")).tryAcquireAsync()));
    lease.close();
    get(engine.multiLock(List.of("a", "b")).tryAcquireAsync()).orElseThrow().close();
    store.down(true);
    assertInstanceOf(LockUnavailableException.class, failureOf(engine.lock("a").tryAcquireAsync()));
  }

  @Test
  void theViewTreatsATimeoutOfZeroAsOneAttempt() throws Exception {
    Lock view = engine.lock("a").asLock();
    assertTrue(view.tryLock(0, TimeUnit.SECONDS));
    assertTrue(view.tryLock(-1, TimeUnit.SECONDS));
    assertFalse(inBackground(() -> view.tryLock(0, TimeUnit.SECONDS)).get());
    view.unlock();
    view.unlock();
  }
}
