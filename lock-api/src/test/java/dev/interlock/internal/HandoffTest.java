package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Grant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class HandoffTest extends EngineFixture {

  @Test
  void aReleaseServesTheNextLocalWaiterWithoutAskingTheStore() throws Exception {
    Lease first = acquire(RENEWED);
    CompletableFuture<Lease> waiting = engine.lock("a").acquireAsync();
    assertEquals(ReleaseOutcome.HANDED_OFF, first.release());
    assertEquals(ReleaseOutcome.HANDED_OFF, first.release());
    Lease second = get(waiting);
    assertEquals(first.fencingToken() + 1, second.fencingToken());
    assertFalse(first.isHeld());
    assertTrue(second.isHeld());
    assertEquals(1, store.calls(FakeStore.Op.ACQUIRE));
    assertEquals(0, store.calls(FakeStore.Op.RELEASE));
    second.close();
    assertFalse(store.holds("a"));
  }

  @Test
  void aTurnEndsAfter63Handoffs() throws Exception {
    Lease lease = acquire(RENEWED);
    long token = lease.fencingToken();
    List<CompletableFuture<Lease>> waiters = new ArrayList<>();
    for (int i = 0; i < 70; i++) {
      waiters.add(engine.lock("a").acquireAsync());
    }
    for (CompletableFuture<Lease> waiter : waiters) {
      lease.close();
      lease = get(waiter);
      assertTrue(lease.fencingToken() > token);
      token = lease.fencingToken();
    }
    assertEquals(2, store.calls(FakeStore.Op.ACQUIRE));
    assertEquals(1, store.calls(FakeStore.Op.RELEASE));
    lease.close();
  }

  @Test
  void aTurnEndsAThirdOfATtlAfterItsAcquisitionWhateverWasRenewed() throws Exception {
    Lease first = acquire(RENEWED);
    BlockingQueue<LockEvent> events = eventsOf(first);
    CompletableFuture<Lease> waiting = engine.lock("a").acquireAsync();
    time.advance(TTL.dividedBy(3));
    next(events, LockEvent.Renewed.class);
    first.close();
    get(waiting).close();
    assertEquals(2, store.calls(FakeStore.Op.ACQUIRE));
  }

  @Test
  void waitersWithOtherSettingsGoToTheStore() throws Exception {
    Lease first = acquire(RENEWED);
    CompletableFuture<Lease> waiting = engine.lock("a", like(FIXED)).acquireAsync();
    first.close();
    get(waiting).close();
    assertEquals(2, store.calls(FakeStore.Op.ACQUIRE));
  }

  @Test
  void aLeaseThatWasHandedOverIsRenewedAndLostAsAnyOther() throws Exception {
    Lease first = acquire(RENEWED);
    CompletableFuture<Lease> waiting = engine.lock("a").acquireAsync();
    first.close();
    Lease second = get(waiting);
    BlockingQueue<LockEvent> events = eventsOf(second);
    time.advance(TTL.dividedBy(3));
    next(events, LockEvent.Renewed.class);
    store.delete("a");
    time.advance(TTL.dividedBy(3));
    assertEquals(LossReason.TAKEN, next(events, LockEvent.Lost.class).loss().reason());
    assertFalse(first.onLoss().isDone());
    assertEquals(ReleaseOutcome.HANDED_OFF, first.release());
  }

  @Test
  void eachLeaseOfATurnHasItsOwnMaximumHold() throws Exception {
    Duration maxHold = Duration.ofSeconds(4);
    Lease first = acquire(RENEWED.toBuilder().maxHold(maxHold).build());
    CompletableFuture<Lease> waiting =
        engine.lock("a", like(RENEWED.toBuilder().maxHold(maxHold).build())).acquireAsync();
    time.advance(Duration.ofSeconds(2));
    first.close();
    Lease second = get(waiting);
    assertEquals(first.fencingToken() + 1, second.fencingToken());
    assertEquals(maxHold, second.remainingValidity());
    second.close();
  }

  @Test
  void theLossOfAGrantSendsTheLocalWaitersToTheStore() throws Exception {
    Lease first = acquire(RENEWED);
    CompletableFuture<Lease> waiting = engine.lock("a").acquireAsync();
    store.delete("a");
    time.advance(TTL.dividedBy(3));
    assertEquals(LossReason.TAKEN, get(first.onLoss()).reason());
    try (Lease second = get(waiting)) {
      assertTrue(second.fencingToken() > first.fencingToken() + Grant.LEASES_PER_GRANT - 1);
    }
  }

  @Test
  void handoffToAWaiterThatWasInterruptedGoesOnToTheNext() throws Exception {
    Lease first = acquire(RENEWED);
    Background<Lease> interrupted = inBackground(() -> engine.lock("a").acquire());
    time.awaitAsleep(interrupted.thread);
    CompletableFuture<Lease> next = engine.lock("a").acquireAsync();
    interrupted.thread.interrupt();
    first.close();
    get(next).close();
    // Either the interrupt or the lock came first, and nothing remains.
    interrupted
        .result
        .handle(
            (lease, failure) -> {
              if (lease != null) {
                lease.close();
              }
              return 0;
            })
        .get(30, java.util.concurrent.TimeUnit.SECONDS);
    Waits.until("the end", () -> engine.holdings.queues.size() == 0 && !store.holds("a"));
  }
}
