package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class CloseTest extends EngineFixture {

  private static final Duration DRAIN = TTL.multipliedBy(3);

  private Background<Boolean> closing(Duration drain) {
    Background<Boolean> closing =
        inBackground(
            () -> {
              engine.close(drain);
              return true;
            });
    time.awaitAsleep(closing.thread);
    return closing;
  }

  @Test
  void aDrainEndsWithTheLastRelease() throws Exception {
    Lease first = acquire(RENEWED);
    Lease second = engine.lock("b").acquire();
    Background<Boolean> closing = closing(DRAIN);
    assertThrows(IllegalStateException.class, () -> engine.lock("c"));
    for (int i = 0; i < 6; i++) {
      time.advance(TTL.dividedBy(3));
      first.renew();
      second.renew();
    }
    assertEquals(ReleaseOutcome.RELEASED, first.release());
    assertTrue(second.isHeld());
    assertEquals(ReleaseOutcome.RELEASED, second.release());
    assertTrue(closing.get());
    assertFalse(first.onLoss().isDone());
    assertFalse(second.onLoss().isDone());
  }

  @Test
  void leasesHeldAtTheEndOfTheDrainAreLost() throws Exception {
    Lease lease = acquire(RENEWED);
    MultiLease set = engine.multiLock(List.of("b", "c")).acquire();
    Background<Boolean> closing = closing(TTL.dividedBy(3));
    time.pass(TTL.dividedBy(3));
    assertTrue(closing.get());
    for (Lease lost : List.of(lease, set)) {
      assertFalse(lost.isHeld());
      assertEquals(ReleaseOutcome.ALREADY_LOST, lost.release());
      assertEquals(LossReason.CLOSED, get(lost.onLoss()).reason());
    }
  }

  @Test
  void anInterruptEndsTheDrain() throws Exception {
    Lease lease = acquire(RENEWED);
    Background<Boolean> closing =
        inBackground(
            () -> {
              engine.close(DRAIN);
              return Thread.interrupted();
            });
    time.awaitAsleep(closing.thread);
    closing.thread.interrupt();
    assertTrue(closing.get());
    assertEquals(LossReason.CLOSED, get(lease.onLoss()).reason());
    assertFalse(store.holds("a"));
  }

  @Test
  void closingReleasesSeveralLeasesAtATime() throws Exception {
    for (int i = 0; i < 8; i++) {
      var unused = engine.lock("n" + i).tryAcquire().orElseThrow();
    }
    FakeStore.Gate gate = store.gate(FakeStore.Op.RELEASE);
    Background<Boolean> closing =
        inBackground(
            () -> {
              engine.close();
              return true;
            });
    gate.awaitArrival();
    Waits.until("the others to be released", () -> store.calls(FakeStore.Op.RELEASE) == 8);
    gate.open();
    assertTrue(closing.get());
  }

  @Test
  void aReleaseTakesNoLongerThanOneRequestTimeOut() throws Exception {
    Lease lease = acquire(RENEWED);
    FakeStore.Gate renewal = store.gate(FakeStore.Op.RENEW);
    time.advance(TTL.dividedBy(3));
    renewal.awaitArrival();
    Background<ReleaseOutcome> release = inBackground(lease::release);
    time.awaitAsleep(release.thread);
    time.advance(REQUEST_TIMEOUT);
    assertEquals(ReleaseOutcome.UNKNOWN, release.get());
    renewal.open();
    advanceUntil("the lock to be free", () -> !store.holds("a"));
  }
}
