package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Claim;
import dev.interlock.spi.DeferrableLease;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Minimum holds on a store that can defer a release. */
class DeferredReleaseTest extends EngineFixture {

  private static final Duration MIN_HOLD = TTL.multipliedBy(3);

  private final DefaultLockClient deferring = deferring();
  private final long begun = time.nanoTime();

  private DefaultLockClient deferring() {
    store.defersReleases();
    return anotherClient();
  }

  private static void kept(LockOptions.Builder options) {
    options.minHold(MIN_HOLD);
  }

  private Lease acquire() throws InterruptedException {
    return deferring.lock("a", DeferredReleaseTest::kept).acquire();
  }

  private void assertFreedWhenItHasPassed() {
    advanceUntil(
        "the lock is free",
        () -> {
          boolean passed = time.nanoTime() - begun >= MIN_HOLD.toNanos();
          boolean taken = store.holds("a");
          assertTrue(taken || passed, "the lock was free before its minimum hold had passed");
          return !taken;
        });
    Duration late = Duration.ofNanos(time.nanoTime() - begun).minus(MIN_HOLD);
    assertTrue(late.compareTo(STEP.multipliedBy(2)) <= 0, () -> "the lock was free late: " + late);
  }

  @Test
  void theStoreKeepsTheLockAndNothingRemainsInTheClient() throws Exception {
    Lease lease = acquire();
    assertEquals(ReleaseOutcome.DEFERRED, lease.release());
    assertEquals(ReleaseOutcome.DEFERRED, lease.release());
    assertEquals(0, deferring.residue());
    assertEquals(List.of(store.lastClaim()), store.forgotten());
    deferring.close();
    assertFreedWhenItHasPassed();
    assertEquals(0, store.calls(FakeStore.Op.RENEW) + store.calls(FakeStore.Op.RELEASE));
    assertFalse(lease.onLoss().isDone());
  }

  @Test
  void aReleaseWithoutBlockingIsTheSame() throws Exception {
    assertEquals(ReleaseOutcome.DEFERRED, get(acquire().releaseAsync()));
    deferring.close();
    assertFreedWhenItHasPassed();
  }

  @Test
  void waitersOfTheSameClientAskTheStoreForIt() throws Exception {
    Lease first = acquire();
    CompletableFuture<Lease> waiting = deferring.lock("a").acquireAsync();
    assertEquals(ReleaseOutcome.DEFERRED, first.release());
    advanceUntil("the waiter has it", waiting::isDone);
    assertTrue(time.nanoTime() - begun >= MIN_HOLD.toNanos());
    get(waiting).close();
  }

  @Test
  void aWaiterThatHasPlannedToAskAtTheEndOfTheTtlAsksAgain() throws Exception {
    Duration minHold = TTL.dividedBy(9);
    Lease first = deferring.lock("a", options -> options.minHold(minHold)).acquire();
    CompletableFuture<Lease> waiting =
        engine.lock("a", options -> options.pollInterval(TTL)).acquireAsync();
    Waits.until("it waits", () -> !engine.waiters().isEmpty());
    first.release();
    advanceUntil("the waiter has it", waiting::isDone);
    Duration waited = Duration.ofNanos(time.nanoTime() - begun);
    assertTrue(waited.compareTo(TTL.dividedBy(2)) < 0, waited::toString);
    get(waiting).close();
  }

  @Test
  void aLossIsReportedByTheRelease() throws Exception {
    Lease lease = acquire();
    store.delete("a");
    assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
    assertEquals(LossReason.TAKEN, get(lease.onLoss()).reason());
    assertEquals(0, deferring.residue());
  }

  @Test
  void aStoreThatIsDownLeavesTheMinimumHoldToTheClient() throws Exception {
    Lease lease = acquire();
    store.down(true);
    assertEquals(ReleaseOutcome.DEFERRED, lease.release());
    store.down(false);
    assertFreedWhenItHasPassed();
    Waits.until("nothing is left of it", () -> deferring.residue() == 0);
  }

  @Test
  void aLostReplyChangesNothing() throws Exception {
    BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
    Lease lease = acquire();
    deferring.onEvent(events::add);
    store.loseReply(FakeStore.Op.DEFER);
    assertEquals(ReleaseOutcome.DEFERRED, lease.release());
    assertFreedWhenItHasPassed();
    Waits.until("nothing is left of it", () -> deferring.residue() == 0);
    assertEquals(ReleaseOutcome.DEFERRED, next(events, LockEvent.Released.class).outcome());
    assertTrue(events.isEmpty(), events::toString);
  }

  @Test
  void theReleaseAfterALateRequestHasTheRemainingTime() throws Exception {
    Duration minHold = REQUEST_TIMEOUT.dividedBy(2);
    Lease lease = deferring.lock("a", options -> options.minHold(minHold)).acquire();
    store.loseReply(FakeStore.Op.DEFER, minHold);
    assertEquals(ReleaseOutcome.DEFERRED, lease.release());
    assertEquals(REQUEST_TIMEOUT.minus(minHold), store.releaseTimeout());
    assertFalse(lease.onLoss().isDone(), "the store has freed it, as it was asked to");
  }

  /**
   * A request that the client no longer waits for may arrive late, so the store may end the grant
   * at any moment.
   */
  @Test
  void aGrantThatTheStoreMayEndByItselfIsNotHandedOff() throws Exception {
    Duration minHold = TTL.dividedBy(9);
    Lease first = deferring.lock("a", options -> options.minHold(minHold)).acquire();
    CompletableFuture<Lease> waiting = deferring.lock("a").acquireAsync();
    store.loseReply(FakeStore.Op.DEFER);
    assertEquals(ReleaseOutcome.DEFERRED, first.release());
    advanceUntil("the waiter has it", waiting::isDone);
    Lease second = get(waiting);
    assertTrue(
        store.attempted().stream().map(Claim::id).distinct().count() > 1, "the same grant went on");
    second.renew();
    second.close();
  }

  /** The grant stays with its lease even if the minimum hold has passed since the request. */
  @Test
  void aGrantThatALateRequestMayEndIsNotHandedOff() throws Exception {
    Duration minHold = REQUEST_TIMEOUT.dividedBy(2);
    Lease first = deferring.lock("a", options -> options.minHold(minHold)).acquire();
    CompletableFuture<Lease> waiting = deferring.lock("a").acquireAsync();
    Waits.until("it waits", () -> !deferring.waiters().isEmpty());
    store.loseReply(FakeStore.Op.DEFER, minHold);
    assertEquals(ReleaseOutcome.DEFERRED, first.release());
    advanceUntil("the waiter has it", waiting::isDone);
    get(waiting).close();
  }

  /** Some of several servers may have deferred the release, and too few may remain to renew. */
  @Test
  void theStoreIsAskedAgainUntilItConfirms() throws Exception {
    Lease lease = acquire();
    store.onNextCall(
        FakeStore.Op.DEFER,
        () -> {
          throw FakeStore.noAnswer();
        });
    assertEquals(ReleaseOutcome.DEFERRED, lease.release());
    advanceUntil("it is asked again", () -> store.calls(FakeStore.Op.DEFER) == 2);
    Waits.until("nothing is left of it", () -> deferring.residue() == 0);
    deferring.close();
    assertFreedWhenItHasPassed();
    assertFalse(lease.onLoss().isDone());
  }

  /** The client asks again even if no renewal is due before the minimum hold has passed. */
  @Test
  void aRequestThatWasNotSentIsSoonMadeAgain() throws Exception {
    Duration minHold = TTL.dividedBy(3);
    Lease lease =
        deferring.lock("a", options -> options.minHold(minHold).autoRenew(false)).acquire();
    store.onNextCall(
        FakeStore.Op.DEFER,
        () -> {
          throw LockUnavailableException.notSent("fake", "nowhere:1", "refused", null);
        });
    assertEquals(ReleaseOutcome.DEFERRED, lease.release());
    advanceUntil("it is asked again", () -> store.calls(FakeStore.Op.DEFER) == 2);
    Waits.until("nothing is left of it", () -> deferring.residue() == 0);
    assertTrue(time.nanoTime() - begun < minHold.toNanos(), "it was asked again too late");
    deferring.close();
    assertTrue(store.holds("a"), "closing the client freed the lock early");
  }

  /** A primary that fails may lose the change while replicas lack it. */
  @Test
  void theStoreIsAskedAgainWhenARenewalHasMetTheDeferral() throws Exception {
    Lease lease = acquire();
    store.loseEachReply(FakeStore.Op.DEFER);
    assertEquals(ReleaseOutcome.DEFERRED, lease.release());
    advanceUntil("it has met it", () -> store.calls(FakeStore.Op.RENEW) == 1);
    int asked = store.calls(FakeStore.Op.DEFER);
    advanceUntil("it is asked again", () -> store.calls(FakeStore.Op.DEFER) > asked + 1);
    assertEquals(1, store.calls(FakeStore.Op.RENEW));
    store.onNextCall(FakeStore.Op.DEFER, () -> {});
    advanceUntil("nothing is left of it", () -> deferring.residue() == 0);
    assertTrue(time.nanoTime() - begun < MIN_HOLD.toNanos(), "it was not asked again");
    assertFreedWhenItHasPassed();
    assertFalse(lease.onLoss().isDone());
  }

  @Test
  void closingDuringTheRequestDoesNotFreeTheLockEarlier() throws Exception {
    Lease lease = acquire();
    FakeStore.Gate gate = store.gate(FakeStore.Op.DEFER);
    Background<ReleaseOutcome> release = inBackground(lease::release);
    gate.awaitArrival();
    Background<Boolean> closing =
        inBackground(
            () -> {
              deferring.close();
              return true;
            });
    time.awaitAsleep(closing.thread);
    gate.open();
    assertEquals(ReleaseOutcome.DEFERRED, release.get());
    assertTrue(closing.get());
    assertFreedWhenItHasPassed();
  }

  @Test
  void otherCallersWaitForTheSameOutcome() throws Exception {
    Lease lease = acquire();
    FakeStore.Gate gate = store.gate(FakeStore.Op.DEFER);
    Background<ReleaseOutcome> first = inBackground(lease::release);
    gate.awaitArrival();
    CompletableFuture<ReleaseOutcome> second = lease.releaseAsync();
    assertFalse(second.isDone());
    gate.open();
    assertEquals(ReleaseOutcome.DEFERRED, first.get());
    assertEquals(ReleaseOutcome.DEFERRED, get(second));
    assertEquals(1, store.calls(FakeStore.Op.DEFER));
  }

  @Test
  void aRenewalInFlightComesFirst() throws Exception {
    Lease lease = acquire();
    FakeStore.Gate gate = store.gate(FakeStore.Op.RENEW);
    CompletableFuture<?> renewal = lease.renewAsync();
    gate.awaitArrival();
    Background<ReleaseOutcome> release = inBackground(lease::release);
    time.awaitAsleep(release.thread);
    assertEquals(0, store.calls(FakeStore.Op.DEFER));
    gate.open();
    assertEquals(ReleaseOutcome.DEFERRED, release.get());
    renewal.handle((done, ended) -> true).get(30, TimeUnit.SECONDS);
    assertFreedWhenItHasPassed();
  }

  @Test
  void readersWithTheSameGrantAreKeptByTheClient() throws Exception {
    Lease writer = deferring.readWriteLock("a").writeLock().acquire();
    List<CompletableFuture<Lease>> readers =
        List.of(
            deferring.readWriteLock("a", DeferredReleaseTest::kept).readLock().acquireAsync(),
            deferring.readWriteLock("a", DeferredReleaseTest::kept).readLock().acquireAsync());
    Waits.until("both wait", () -> deferring.waiters().size() == 2);
    writer.close();
    assertEquals(ReleaseOutcome.DEFERRED, get(readers.get(0)).release());
    assertTrue(get(readers.get(1)).isHeld());
    assertEquals(0, store.calls(FakeStore.Op.DEFER));
    get(readers.get(1)).renew();
    get(readers.get(1)).close();
    assertFreedWhenItHasPassed();
  }

  @Test
  void aSingleReaderIsLeftToTheStore() throws Exception {
    Lease reader = deferring.readWriteLock("a", DeferredReleaseTest::kept).readLock().acquire();
    store.loseReply(FakeStore.Op.DEFER);
    assertEquals(ReleaseOutcome.DEFERRED, reader.release());
    Lease next = deferring.readWriteLock("a", DeferredReleaseTest::kept).readLock().acquire();
    assertEquals(ReleaseOutcome.DEFERRED, next.release());
    assertFreedWhenItHasPassed();
    Waits.until("nothing is left of it", () -> deferring.residue() == 0);
  }

  @Test
  void aPermitIsLeftToTheStore() throws Exception {
    Lease permit = deferring.semaphore("a", 2, DeferredReleaseTest::kept).acquire();
    assertEquals(ReleaseOutcome.DEFERRED, permit.release());
    assertEquals(0, deferring.residue());
    deferring.close();
    assertFreedWhenItHasPassed();
  }

  @Test
  void aReleaseMaySayHowMuchOfTheMinimumIsLeft() throws Exception {
    DeferrableLease lease =
        (DeferrableLease) deferring.lock("a", options -> options.autoRenew(false)).acquire();
    assertEquals(ReleaseOutcome.DEFERRED, lease.releaseAfter(MIN_HOLD));
    assertFreedWhenItHasPassed();
    Lease kept = acquire();
    assertEquals(ReleaseOutcome.RELEASED, ((DeferrableLease) kept).releaseAfter(Duration.ZERO));
  }

  /** The store cannot defer releases. */
  @Test
  void theClientRenewsWhatItKeepsBeyondTheTtl() throws Exception {
    Lease lease = engine.lock("a", options -> options.autoRenew(false)).acquire();
    assertEquals(ReleaseOutcome.DEFERRED, ((DeferrableLease) lease).releaseAfter(MIN_HOLD));
    assertFreedWhenItHasPassed();
  }
}
