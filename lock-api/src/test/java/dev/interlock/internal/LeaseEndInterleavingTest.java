package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;

/** The end of a lease, while other operations move that end. */
class LeaseEndInterleavingTest extends EngineFixture {

  private static final Duration MAX_HOLD = Duration.ofSeconds(1);
  private static final Duration INTERVAL = TTL.dividedBy(3);

  @Test
  void theMaximumHoldOfASetIsReportedAtOnce() throws Exception {
    LockOptions options = RENEWED.toBuilder().maxHold(MAX_HOLD).build();
    MultiLease lease = engine.multiLock(List.of("a", "b"), like(options)).acquire();
    time.advance(MAX_HOLD);
    assertEquals(LossReason.MAX_HOLD, get(lease.onLoss()).reason());
  }

  @Test
  void theMaximumHoldCutsAFixedTtlShortOnASession() throws Exception {
    store.onSessions();
    LockOptions options = FIXED.toBuilder().maxHold(MAX_HOLD).build();
    assertEquals(
        MAX_HOLD, engine.multiLock(List.of("a", "b"), like(options)).acquire().remainingValidity());
    assertEquals(MAX_HOLD, engine.lock("c", like(options)).acquire().remainingValidity());
  }

  @Test
  void aFixedTtlOnASessionIsExtendedUpToTheMaximumHold() throws Exception {
    store.onSessions();
    Duration maxHold = TTL.plus(INTERVAL);
    Lease lease = acquire(FIXED.toBuilder().maxHold(maxHold).build());
    time.advance(INTERVAL);
    lease.renew();
    assertEquals(TTL, lease.remainingValidity());
    time.advance(INTERVAL);
    lease.renew();
    assertEquals(TTL.minus(INTERVAL), lease.remainingValidity());
  }

  @Test
  void theMaximumHoldOfAFixedTtlFreesTheLock() throws Exception {
    Lease lease = acquire(FIXED.toBuilder().maxHold(MAX_HOLD).build());
    time.advance(MAX_HOLD);
    assertEquals(LossReason.MAX_HOLD, get(lease.onLoss()).reason());
    Waits.until("the lock to be free", () -> !store.holds("a"));
  }

  @Test
  void aRenewalInFlightIsTheLastOfALeaseThatIsAbandonedMeanwhile() throws Exception {
    LeaseState abandoned =
        Objects.requireNonNull(
            BlockingAcquisition.acquire(engine.acquirer, acquireRequest(RENEWED), held -> held));
    Lease other = engine.lock("b").acquire();
    BlockingQueue<LockEvent> events = eventsOf(other);
    FakeStore.Gate gate = store.gate(FakeStore.Op.RENEW);
    time.advance(INTERVAL);
    gate.awaitArrival();
    abandoned.abandon("the test abandoned it");
    gate.open();
    next(events, LockEvent.Renewed.class);
    time.advance(INTERVAL);
    next(events, LockEvent.Renewed.class);
    assertEquals(List.of(2, 1), store.batches());
  }

  @Test
  void droppingALeaseDoesNotPutItsMaximumHoldOff() throws Exception {
    LockOptions options = RENEWED.toBuilder().maxHold(MAX_HOLD).build();
    LeaseState lease =
        Objects.requireNonNull(
            BlockingAcquisition.acquire(engine.acquirer, acquireRequest(options), held -> held));
    lease.abandon("the test abandoned it");
    assertEquals(MAX_HOLD, lease.remaining());
  }

  @Test
  void listenersLearnOfAReleaseBeforeTheAcquisitionThatFollows() throws Exception {
    BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
    engine.onEvent(
        event -> {
          if (!(event instanceof LockEvent.Waiting)) {
            events.add(event);
          }
        });
    Lease first = acquire(RENEWED);
    CompletableFuture<Lease> second = engine.lock("a").acquireAsync();
    CompletableFuture<Lease> third = engine.lock("a", like(FIXED)).acquireAsync();
    first.close();
    get(second).close();
    get(third).close();
    for (int i = 0; i < 3; i++) {
      long token = next(events, LockEvent.Acquired.class).fencingToken().orElseThrow();
      assertEquals(token, next(events, LockEvent.Released.class).fencingToken().orElseThrow());
    }
  }

  @Test
  void theRenewalOfALeaseThatIsBeingReleasedIsNotReported() throws Exception {
    Lease lease = acquire(RENEWED);
    BlockingQueue<LockEvent> events = eventsOf(lease);
    FakeStore.Gate gate = store.gate(FakeStore.Op.RENEW);
    time.advance(INTERVAL);
    gate.awaitArrival();
    Background<?> release = inBackground(lease::release);
    Waits.until("the release", () -> !lease.isHeld());
    assertFalse(release.result.isDone());
    assertTrue(store.holds("a"));
    gate.open();
    release.get();
    next(events, LockEvent.Released.class);
    assertTrue(events.isEmpty());
  }
}
