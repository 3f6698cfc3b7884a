package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** However an attempt or a lease ends, the engine asks the backend to forget the claim. */
class ForgetTest extends EngineFixture {

  private void assertAllForgotten(int attempts) {
    advanceUntil("the end of all claims", () -> store.forgotten().size() >= attempts);
    assertEquals(attempts, store.attempted().size());
    assertEquals(store.attempted(), store.forgotten());
    assertEquals(0, engine.residue());
  }

  @Test
  void aLeaseThatWasReleased() throws Exception {
    acquire(RENEWED).close();
    assertAllForgotten(1);
  }

  @Test
  void anAttemptThatFoundTheLockTaken() {
    store.occupy("a", TTL);
    assertTrue(engine.lock("a").tryAcquire().isEmpty());
    assertAllForgotten(1);
  }

  @Test
  void anAttemptWhoseAnswerWasLost() {
    store.loseReply(FakeStore.Op.ACQUIRE);
    assertThrows(LockUnavailableException.class, () -> engine.lock("a").tryAcquire());
    assertAllForgotten(1);
  }

  @Test
  void anAttemptThatWasRefused() {
    store.refuse(true);
    assertThrows(LockConfigurationException.class, () -> engine.lock("a").tryAcquire());
    assertAllForgotten(1);
  }

  @Test
  void aLeaseThatWasTakenAway() throws Exception {
    Lease lease = acquire(RENEWED);
    store.reportLoss("a", LossReason.TAKEN);
    assertEquals(LossReason.TAKEN, get(lease.onLoss()).reason());
    assertAllForgotten(1);
  }

  @Test
  void aLeaseThatWasHeldForItsLongestTime() throws Exception {
    LockOptions limited = RENEWED.toBuilder().maxHold(Duration.ofSeconds(2)).build();
    Lease lease = acquire(limited);
    time.advance(Duration.ofSeconds(2));
    assertEquals(LossReason.MAX_HOLD, get(lease.onLoss()).reason());
    assertAllForgotten(1);
  }

  @Test
  void aLeaseWhoseReleaseWasNotConfirmed() throws Exception {
    Lease lease = acquire(RENEWED);
    store.down(true);
    assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
    assertAllForgotten(1);
  }

  @Test
  void anErrorOfTheBackendDoesNotSuppressALoss() throws Exception {
    LeaseState lease =
        Objects.requireNonNull(
            BlockingAcquisition.acquire(engine.acquirer, acquireRequest(FIXED), held -> held));
    CompletableFuture<LeaseLostException> loss = new CompletableFuture<>();
    lease.onLoss(loss::complete);
    store.failOnce(new StackOverflowError("of the test"));
    time.advance(TTL);
    assertEquals(LossReason.EXPIRED, get(loss).reason());
  }

  /** Many leases may expire at once, and the store is not asked about them. */
  @Test
  void leasesThatRunOutWhileTheStoreIsDown() throws Exception {
    int many = 500;
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < many; i++) {
      leases.add(engine.lock("a" + i, like(FIXED)).acquire());
    }
    store.down(true);
    time.advance(TTL);
    for (Lease lease : leases) {
      assertEquals(LossReason.EXPIRED, get(lease.onLoss()).reason());
    }
    advanceUntil("the end of all claims", () -> store.forgotten().size() >= many);
    assertEquals(many, store.forgotten().stream().distinct().count());
    assertEquals(0, engine.residue());
    assertEquals(0, store.calls(FakeStore.Op.RELEASE));
  }
}
