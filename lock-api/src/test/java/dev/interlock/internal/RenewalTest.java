package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

class RenewalTest extends EngineFixture {

  private static final Duration INTERVAL = TTL.dividedBy(3);

  @Test
  void aGrantThatComesDueTwiceAfterTheMachineSleptIsRenewedOnce() throws Exception {
    try (Lease lease = acquire(RENEWED)) {
      time.advance(Duration.ofSeconds(1));
      time.advance(Duration.ofSeconds(1));
      time.advance(Duration.ofMillis(600));
      // Its renewal is due at the same time as the check for sleep.
      time.sleepMachine(Duration.ofMillis(500));
      time.advance(Duration.ofSeconds(1));
      Waits.until("the renewal", () -> !store.batches().isEmpty());
      assertTrue(lease.isHeld());
      assertTrue(store.batches().stream().allMatch(size -> size == 1), store.batches()::toString);
    }
  }

  @Test
  void aStoreThatIsDownPutsTheLeaseAtRiskAndLosesItAtTheEndOfItsValidity() throws Exception {
    Lease lease = acquire(RENEWED);
    BlockingQueue<LockEvent> events = eventsOf(lease);
    store.down(true);
    time.advance(INTERVAL);
    LockEvent.AtRisk risk = next(events, LockEvent.AtRisk.class);
    assertEquals(TTL.minus(INTERVAL), risk.remaining());
    time.advance(TTL.minus(INTERVAL).minusNanos(1));
    assertTrue(lease.isHeld());
    time.advance(Duration.ofNanos(1));
    assertEquals(LossReason.EXPIRED, next(events, LockEvent.Lost.class).loss().reason());
    assertFalse(lease.isHeld());
  }

  @Test
  void aGrantThatRenewalsMayHaveProlongedIsReleasedWhenItsLeaseHasExpired() throws Exception {
    Lease lease = acquire(RENEWED);
    store.loseEachReply(FakeStore.Op.RENEW);
    advanceUntil("the loss", lease.onLoss()::isDone);
    long lostAt = time.nanoTime();
    advanceUntil("the lock to be free", () -> !store.holds("a"));
    Duration after = Duration.ofNanos(time.nanoTime() - lostAt);
    assertTrue(after.compareTo(REQUEST_TIMEOUT) < 0, "free after " + after);
  }

  @Test
  void aListenerThatIsAddedAtRiskIsCalledAtOnce() throws Exception {
    Lease lease = acquire(RENEWED);
    MultiLease set = engine.multiLock(List.of("b", "c")).acquire();
    BlockingQueue<LockEvent> events = eventsOf(lease);
    BlockingQueue<LockEvent> ofSet = eventsOf(set);
    store.down(true);
    time.advance(INTERVAL);
    LockEvent.AtRisk risk = next(events, LockEvent.AtRisk.class);
    next(ofSet, LockEvent.AtRisk.class);
    assertEquals(risk.failure(), next(eventsOf(lease), LockEvent.AtRisk.class).failure());
    next(eventsOf(set), LockEvent.AtRisk.class);
  }

  @Test
  void aRenewalThatIsNotAnsweredPutsTheLeaseAtRiskInTheLastThird() throws Exception {
    Lease lease = acquire(RENEWED);
    BlockingQueue<LockEvent> events = eventsOf(lease);
    FakeStore.Gate gate = store.gate(FakeStore.Op.RENEW);
    time.advance(INTERVAL);
    gate.awaitArrival();
    assertTrue(events.isEmpty());
    time.advance(INTERVAL);
    assertEquals(INTERVAL, next(events, LockEvent.AtRisk.class).remaining());
    time.advance(INTERVAL);
    next(events, LockEvent.Lost.class);
    gate.open();
  }

  @Test
  void aLossCarriesTheLastProblem() throws Exception {
    Lease lease = acquire(RENEWED);
    BlockingQueue<LockEvent> events = eventsOf(lease);
    store.down(true);
    time.advance(INTERVAL);
    LockEvent.AtRisk risk = next(events, LockEvent.AtRisk.class);
    time.advance(TTL);
    Throwable cause = next(events, LockEvent.Lost.class).loss().getCause();
    assertEquals(risk.failure().getMessage(), cause.getMessage());
  }

  @Test
  void aRenewalLeavesTimeForAnother() throws Exception {
    Lease brief =
        engine.lock("b", like(RENEWED.toBuilder().ttl(REQUEST_TIMEOUT).build())).acquire();
    Lease lease = acquire(RENEWED);
    time.advance(REQUEST_TIMEOUT.dividedBy(3));
    Waits.until("a renewal", () -> !store.renewalTimeouts().isEmpty());
    time.advance(INTERVAL);
    assertFalse(brief.isHeld() && !lease.isHeld());
    Waits.until("another", () -> store.renewalTimeouts().contains(REQUEST_TIMEOUT));
    assertEquals(REQUEST_TIMEOUT.dividedBy(3), store.renewalTimeouts().get(0));
  }

  @Test
  void aStoreThatComesBackInTimeKeepsTheLease() throws Exception {
    Lease lease = acquire(RENEWED);
    BlockingQueue<LockEvent> events = eventsOf(lease);
    store.down(true);
    time.advance(INTERVAL);
    next(events, LockEvent.AtRisk.class);
    store.down(false);
    // Retries come at most a tenth of a TTL apart.
    time.advance(TTL.dividedBy(10));
    next(events, LockEvent.Renewed.class);
    assertTrue(lease.remainingValidity().compareTo(TTL.multipliedBy(8).dividedBy(10)) > 0);
    lease.close();
    next(events, LockEvent.Released.class);
  }

  @Test
  void aLeaseThatTheStoreNoLongerHasIsLostAtTheNextRenewal() throws Exception {
    Lease lease = acquire(RENEWED);
    store.delete("a");
    time.advance(INTERVAL);
    assertEquals(LossReason.TAKEN, get(lease.onLoss()).reason());
    assertFalse(lease.isHeld());
  }

  @Test
  void aConfirmationThatComesAfterTheEndDoesNotBringTheLeaseBack() throws Exception {
    Lease lease = acquire(RENEWED);
    FakeStore.Gate gate = store.gate(FakeStore.Op.RENEW);
    time.advance(INTERVAL);
    gate.awaitArrival();
    time.advance(TTL.minus(INTERVAL));
    assertEquals(LossReason.EXPIRED, get(lease.onLoss()).reason());
    gate.open();
    assertFalse(lease.isHeld());
    assertThrows(LeaseLostException.class, lease::renew);
    assertFalse(lease.isHeld());
  }

  @Test
  void explicitRenewalOfALostLeaseFailsEvenIfTheLockIsFree() throws Exception {
    Lease lease = acquire(FIXED);
    store.delete("a");
    assertThrows(LeaseLostException.class, lease::renew);
    assertFalse(store.holds("a"));
    assertEquals(LossReason.TAKEN, get(lease.onLoss()).reason());
  }

  @Test
  void explicitRenewalThatFailsLeavesTheValidityAsItWas() throws Exception {
    try (Lease lease = acquire(FIXED)) {
      time.advance(Duration.ofSeconds(1));
      store.down(true);
      LockUnavailableException failure = assertThrows(LockUnavailableException.class, lease::renew);
      assertEquals(Optional.of("a"), failure.name());
      assertEquals(TTL.minusSeconds(1), lease.remainingValidity());
      store.down(false);
    }
  }

  @Test
  void aRenewalThatCouldNotBeginIsNoSuccess() throws Exception {
    Lease lease = acquire(FIXED);
    FakeStore.Gate gate = store.gate(FakeStore.Op.RENEW);
    Background<Boolean> first = renewal(lease);
    gate.awaitArrival();
    Background<Boolean> second = renewal(lease);
    time.awaitAsleep(second.thread);
    time.advance(REQUEST_TIMEOUT);
    assertInstanceOf(
        LockUnavailableException.class,
        assertThrows(ExecutionException.class, second::get).getCause());
    gate.open();
    assertTrue(first.get());
  }

  private static Background<Boolean> renewal(Lease lease) {
    return inBackground(
        () -> {
          lease.renew();
          return true;
        });
  }

  @Test
  void aReleaseWaitsForARenewalInFlightAndNoneFollows() throws Exception {
    Lease lease = acquire(RENEWED);
    FakeStore.Gate gate = store.gate(FakeStore.Op.RENEW);
    time.advance(INTERVAL);
    gate.awaitArrival();
    FakeStore.Gate released = store.gate(FakeStore.Op.RELEASE);
    Background<ReleaseOutcome> release = inBackground(lease::release);
    Waits.until("the release to begin", () -> !lease.isHeld());
    assertFalse(released.hasArrival(), "the release must wait for the renewal");
    gate.open();
    released.awaitArrival();
    released.open();
    assertEquals(ReleaseOutcome.RELEASED, release.get());
    int renewals = store.calls(FakeStore.Op.RENEW);
    time.advance(TTL.multipliedBy(3));
    assertEquals(renewals, store.calls(FakeStore.Op.RENEW));
    assertFalse(lease.onLoss().isDone());
  }

  @Test
  void manyLeasesAreRenewedInBatchesWithAtMostTwoRequestsInFlight() throws Exception {
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      leases.add(engine.lock("n" + i, like(RENEWED)).tryAcquire().orElseThrow());
    }
    BlockingQueue<LockEvent> last = eventsOf(leases.get(leases.size() - 1));
    time.advance(INTERVAL);
    next(last, LockEvent.Renewed.class);
    Waits.until(
        "all to be renewed",
        () -> store.batches().stream().mapToInt(Integer::intValue).sum() == leases.size());
    assertEquals(8, store.batches().size(), () -> "batches " + store.batches());
    assertTrue(store.maxRenewing() <= 2);
    leases.forEach(lease -> assertTrue(lease.isHeld()));
  }

  @Test
  void aLeaseThatTheProgramForgotIsNoLongerRenewed() throws Exception {
    BlockingQueue<LockEvent> events = new java.util.concurrent.LinkedBlockingQueue<>();
    engine.onEvent(events::add);
    forget();
    next(events, LockEvent.Acquired.class);
    Waits.until(
        "the collector to find the lease",
        () -> {
          System.gc();
          time.advance(TTL.dividedBy(9));
          return events.stream().anyMatch(LockEvent.Lost.class::isInstance);
        });
    LockEvent.Lost lost =
        (LockEvent.Lost) events.stream().filter(LockEvent.Lost.class::isInstance).findAny().get();
    assertEquals(LossReason.ABANDONED, lost.loss().reason());
    for (int i = 0; i < 50 * CallSites.SAMPLING_INTERVAL; i++) {
      assertNotNull(
          engine.engine.callSites.sample("a"),
          "the call site is not recorded although a lease of the name was abandoned");
    }
  }

  private void forget() throws InterruptedException {
    assertTrue(acquire(RENEWED).isHeld());
  }

  @Test
  void aHoldWhoseThreadHasEndedIsNoLongerRenewed() throws Exception {
    BlockingQueue<LockEvent> events = new java.util.concurrent.LinkedBlockingQueue<>();
    engine.onEvent(events::add);
    Background<Boolean> owner = inBackground(() -> engine.lock("a").asLock().tryLock());
    assertTrue(owner.get());
    owner.thread.join();
    next(events, LockEvent.Acquired.class);
    time.advance(INTERVAL);
    time.advance(TTL);
    assertEquals(LossReason.ABANDONED, next(events, LockEvent.Lost.class).loss().reason());
    Waits.until("the hold to be forgotten", () -> engine.acquirer.threadHolds.size() == 0);
  }
}
