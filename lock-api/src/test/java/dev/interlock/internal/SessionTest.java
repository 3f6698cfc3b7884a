package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.LossReason;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Locks that depend on a session, of which each answer promises less than a TTL. */
class SessionTest extends EngineFixture {

  private static final Duration CERTAIN = Duration.ofSeconds(3);
  private static final Duration INTERVAL = CERTAIN.dividedBy(3);

  @BeforeEach
  void onSessions() {
    store.onSessionsValidityPerConfirmation(CERTAIN);
  }

  @Test
  void aLeaseThatWasConfirmedForAPartOfItsValidityIsSoonRenewedAgain() throws Exception {
    try (Lease lease = acquire(RENEWED)) {
      BlockingQueue<LockEvent> events = eventsOf(lease);
      store.onSessionsValidityPerConfirmation(INTERVAL.dividedBy(2));
      time.advance(INTERVAL);
      for (int i = 0; i < 40; i++) {
        LockEvent event = next(events);
        while (event instanceof LockEvent.AtRisk) {
          event = next(events);
        }
        assertInstanceOf(LockEvent.Renewed.class, event);
        // One advance may cause two events.
        Duration remaining = INTERVAL.dividedBy(4);
        Waits.until("renewed", () -> lease.remainingValidity().compareTo(remaining) > 0);
        time.advance(remaining);
      }
      assertTrue(lease.isHeld());
    }
  }

  @Test
  void aLeaseIsRenewedInTimeForWhatTheSessionPromises() throws Exception {
    try (Lease lease = acquire(RENEWED)) {
      assertEquals(CERTAIN, lease.remainingValidity());
      BlockingQueue<LockEvent> events = eventsOf(lease);
      for (int i = 0; i < 30; i++) {
        time.advance(INTERVAL);
        next(events, LockEvent.Renewed.class);
        assertTrue(lease.isHeld());
      }
    }
    assertFalse(store.holds("a"));
  }

  @Test
  void theEngineKeepsAFixedTtlToItsEndAndFreesItThere() throws Exception {
    Lease lease = acquire(FIXED);
    BlockingQueue<LockEvent> events = eventsOf(lease);
    for (Duration past = INTERVAL; past.compareTo(TTL) < 0; past = past.plus(INTERVAL)) {
      time.advance(INTERVAL);
      next(events, LockEvent.Renewed.class);
      Duration remaining = TTL.minus(past);
      assertEquals(
          remaining.compareTo(CERTAIN) < 0 ? remaining : CERTAIN, lease.remainingValidity());
    }
    time.advance(INTERVAL);
    assertEquals(LossReason.EXPIRED, get(lease.onLoss()).reason());
    Waits.until("the lock to be free", () -> !store.holds("a"));
  }

  @Test
  void aFixedTtlThatTheProgramRenewsStartsAgain() throws Exception {
    Lease lease = acquire(FIXED);
    time.advance(INTERVAL.dividedBy(2));
    lease.renew();
    BlockingQueue<LockEvent> events = eventsOf(lease);
    for (Duration past = INTERVAL; past.compareTo(TTL) < 0; past = past.plus(INTERVAL)) {
      time.advance(INTERVAL);
      next(events, LockEvent.Renewed.class);
    }
    assertTrue(lease.isHeld());
    time.advance(INTERVAL);
    assertFalse(lease.isHeld());
  }

  @Test
  void aSessionThatIsNotConfirmedLosesItsLeasesBeforeTheirTtl() throws Exception {
    Lease lease = acquire(RENEWED);
    Lease fixed = engine.lock("b", like(FIXED)).acquire();
    store.down(true);
    time.advance(CERTAIN.minusNanos(1));
    assertTrue(lease.isHeld());
    assertTrue(fixed.isHeld());
    time.advance(Duration.ofNanos(1));
    assertFalse(lease.isHeld());
    assertFalse(fixed.isHeld());
    assertEquals(LossReason.EXPIRED, get(lease.onLoss()).reason());
    assertEquals(LossReason.EXPIRED, get(fixed.onLoss()).reason());
  }

  @Test
  void aLeaseIsHandedOverWhileTheSessionIsFresh() throws Exception {
    Lease first = acquire(RENEWED);
    CompletableFuture<Lease> second = engine.lock("a", like(RENEWED)).acquireAsync();
    first.close();
    try (Lease lease = get(second)) {
      assertEquals(first.fencingToken() + 1, lease.fencingToken());
    }
  }

  @Test
  void aSetOfFixedTtlsLastsForItsTtl() throws Exception {
    BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
    Lease set = engine.multiLock(List.of("a", "b"), like(FIXED)).acquire();
    engine.onEvent(events::add);
    for (Duration past = INTERVAL; past.compareTo(TTL) < 0; past = past.plus(INTERVAL)) {
      time.advance(INTERVAL);
      next(events, LockEvent.Renewed.class);
      next(events, LockEvent.Renewed.class);
      assertTrue(set.isHeld());
    }
    time.advance(INTERVAL);
    assertFalse(set.isHeld());
  }
}
