package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.ThrowingSupplier;

/** Attempts, with answers and reports of the store at awkward moments. */
class AcquireLoopInterleavingTest extends EngineFixture {

  private static final Duration ONE_DAY = Duration.ofDays(1);

  private final FakeStore.CallHook noAnswer =
      () -> {
        throw FakeStore.noAnswer();
      };

  /** After a while the store grants the lock, takes it back, and reports that before it answers. */
  private final FakeStore.CallHook takenBack =
      new FakeStore.CallHook() {
        @Override
        public void before() {
          time.advance(STEP);
        }

        @Override
        public void after() {
          store.reportLoss("a", LossReason.TAKEN);
        }
      };

  @Test
  void aLossThatIsReportedBeforeTheGrantArrivesIsNotForgotten() throws Exception {
    BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
    engine.onEvent(events::add);
    store.onNextCall(FakeStore.Op.ACQUIRE, takenBack);
    try (Lease lease = engine.lock("a", like(FIXED)).acquire()) {
      assertTrue(lease.isHeld());
      next(events, LockEvent.Acquired.class);
      assertEquals(LossReason.TAKEN, next(events, LockEvent.Lost.class).loss().reason());
      assertEquals(
          lease.fencingToken(),
          next(events, LockEvent.Acquired.class).fencingToken().orElseThrow());
    }
    Waits.until("nothing to be left", () -> engine.residue() == 0);
    // Another thread logs the loss, which is counted for a second.
    advanceUntil("nothing to be scheduled", () -> engine.engine.timer.size() == 0);
  }

  /**
   * An empty answer would mean that another client has the lock; a later attempt may find the lock
   * of this one.
   */
  @Test
  void aGrantThatIsLostWhenTheTimeIsOverIsNotAnsweredAsBusy() {
    DistributedLock lock = engine.lock("a", like(FIXED));
    List<ThrowingSupplier<Object>> attempts =
        List.of(
            lock::tryAcquire,
            () -> lock.tryAcquire(STEP),
            () -> get(lock.tryAcquireAsync()),
            () -> engine.multiLock(List.of("a"), like(FIXED)).tryAcquire());
    for (ThrowingSupplier<Object> attempt : attempts) {
      store.onNextCall(FakeStore.Op.ACQUIRE, takenBack);
      Throwable failure = assertThrows(Exception.class, attempt::get);
      failure = failure instanceof ExecutionException ? failure.getCause() : failure;
      assertInstanceOf(LockUnavailableException.class, failure);
      assertInstanceOf(LeaseLostException.class, failure.getCause());
    }
  }

  @Test
  void theFailureOfAnEarlierHeadIsForgottenWhenTheStoreAnswersTheNext() throws Exception {
    store.occupy("a", ONE_DAY);
    store.down(true);
    Background<Optional<Lease>> first =
        inBackground(() -> engine.lock("a").tryAcquire(Duration.ofSeconds(1)));
    time.awaitAsleep(first.thread);
    Background<Lease> second = inBackground(() -> engine.lock("a").acquire());
    time.awaitAsleep(second.thread);
    store.down(false);
    store.onNextCall(FakeStore.Op.ACQUIRE, noAnswer);
    time.advance(Duration.ofSeconds(1));
    assertThrows(ExecutionException.class, first::get);
    Waits.until("the second to watch", () -> store.watchers() == 1);
    time.awaitAsleep(second.thread);
    assertEquals(Optional.empty(), engine.lock("a").tryAcquire());
    store.free("a");
    try (Lease lease = second.get()) {
      assertTrue(lease.isHeld());
      assertEquals(Optional.empty(), engine.lock("a").tryAcquire());
    }
  }

  @Test
  void theFailureOfAnEarlierHeadIsForgottenWhenTheNextIsGrantedTheLock() throws Exception {
    store.down(true);
    Background<Optional<Lease>> first =
        inBackground(() -> engine.lock("a").tryAcquire(Duration.ofSeconds(1)));
    time.awaitAsleep(first.thread);
    Background<Lease> second = inBackground(() -> engine.lock("a").acquire());
    time.awaitAsleep(second.thread);
    store.down(false);
    store.onNextCall(FakeStore.Op.ACQUIRE, noAnswer);
    time.advance(Duration.ofSeconds(1));
    assertThrows(ExecutionException.class, first::get);
    try (Lease lease = second.get()) {
      assertTrue(lease.isHeld());
      assertEquals(Optional.empty(), engine.lock("a").tryAcquire());
    }
  }

  @Test
  void aWatchThatCannotBeSetUpIsSetUpLater() throws Exception {
    store.occupy("a", ONE_DAY);
    store.watchesFail(true);
    Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    time.awaitAsleep(waiter.thread);
    store.watchesFail(false);
    time.advance(RENEWED.pollInterval().multipliedBy(2));
    Waits.until("the watch", () -> store.watchers() == 1);
    store.free("a");
    waiter.get().close();
    assertEquals(0, store.watchers());
  }

  @Test
  void aWatchThatFailsToEndDoesNotSwallowTheLease() throws Exception {
    store.occupy("a", ONE_DAY);
    Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    time.awaitAsleep(waiter.thread);
    store.unwatchingFails(true);
    store.free("a");
    waiter.get().close();
    assertFalse(store.holds("a"));
    Waits.until("nothing to be left", () -> engine.residue() == 0);
  }

  @Test
  void aStoreThatAsksForAPauseOfAThousandYearsIsPolledBefore() throws Exception {
    store.occupy("a", ONE_DAY);
    store.hint(Duration.ofDays(365_000));
    Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    time.awaitAsleep(waiter.thread);
    store.delete("a");
    time.advance(RENEWED.pollInterval().multipliedBy(2));
    waiter.get().close();
  }
}
