package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;

/** State that must not remain, and must not vanish, when operations end in an unusual order. */
class LeakInterleavingTest extends EngineFixture {

  @Test
  void theHoldOfAThreadThatEndsAfterItsLossIsForgotten() throws Exception {
    for (int i = 0; i < 100; i++) {
      String name = "lost" + i;
      Background<Boolean> owner =
          inBackground(
              () -> {
                engine.lock(name).asLock().lock();
                store.reportLoss(name, LossReason.TAKEN);
                return true;
              });
      assertTrue(owner.get());
      owner.thread.join();
    }
    Lock lock = engine.lock("a").asLock();
    lock.lock();
    try {
      assertEquals(1, engine.acquirer.threadHolds.size());
    } finally {
      lock.unlock();
    }
    assertEquals(0, engine.acquirer.threadHolds.size());
  }

  @Test
  void aSetLearnsOfALossThatItsReleaseFinds() throws Exception {
    MultiLease lease = engine.multiLock(List.of("a", "b", "c")).acquire();
    CompletableFuture<?> lost = lease.onLoss();
    store.delete("b");
    assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
    get(lost);
    assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
    Waits.until("the others to be free", () -> !store.holds("a") && !store.holds("c"));
    Waits.until("the end", () -> engine.residue() == 0);
  }

  @Test
  void aReleaseThatRunsOutOfStackIsRepeated() throws Exception {
    Lease lease = acquire(RENEWED);
    store.onNextCall(
        FakeStore.Op.RELEASE,
        () -> {
          throw new StackOverflowError("as in a deep recursion");
        });
    assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
    Waits.until("the lock to be free", () -> !store.holds("a"));
    Waits.until("the end", () -> engine.residue() == 0);
    assertFalse(lease.isHeld());
  }

  @Test
  void anAcquisitionThatRunsOutOfStackAtTheHeadLeavesNoHead() {
    InterceptedTime intercepted = new InterceptedTime(time);
    try (DefaultLockClient client = new DefaultLockClient(store::open, RENEWED, intercepted)) {
      intercepted.whenCalledHere(
          "nextAttempt",
          () -> {
            throw new StackOverflowError("as in a deep recursion");
          });
      assertThrows(StackOverflowError.class, () -> client.lock("a").acquire());
      assertTrue(intercepted.hasRun());
      assertEquals(0, client.holdings.queues.size());
      advanceUntil("the end of the undoing", () -> client.residue() == 0);
    }
  }
}
