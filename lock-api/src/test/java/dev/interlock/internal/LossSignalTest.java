package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LossReason;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

class LossSignalTest extends EngineFixture {

  private List<Lease> leases() throws InterruptedException {
    return List.of(acquire(RENEWED), engine.multiLock(List.of("b", "c")).acquire());
  }

  private void loseAll() {
    store.reportLoss("a", LossReason.TAKEN);
    store.reportLoss("b", LossReason.TAKEN);
  }

  @Test
  void aDependentThatBlocksDoesNotMuteTheOthers() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    List<CompletableFuture<?>> others = new ArrayList<>();
    for (Lease lease : leases()) {
      for (int i = 0; i < 10; i++) {
        var unused = lease.onLoss().thenAccept(loss -> awaitQuietly(end));
        others.add(lease.onLoss().thenAccept(loss -> {}));
        others.add(lease.onLoss().copy().thenAccept(loss -> {}));
      }
    }
    loseAll();
    try {
      for (CompletableFuture<?> other : others) {
        get(other);
      }
    } finally {
      end.countDown();
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aWaitForALossOrAnotherFutureLeavesNothingWithTheLease() throws Exception {
    for (Lease lease : leases()) {
      for (int i = 0; i < 1_000; i++) {
        CompletableFuture<Boolean> step = new CompletableFuture<>();
        CompletableFuture<?> either = CompletableFuture.anyOf(step, lease.onLoss());
        step.complete(true);
        get(either);
      }
      assertTrue(lease.onLoss().getNumberOfDependents() <= 1);
    }
  }

  @Test
  void nobodyButTheLeaseCompletesItsSignal() throws Exception {
    for (Lease lease : leases()) {
      CompletableFuture<LeaseLostException> lost = lease.onLoss();
      lost.cancel(true);
      lost.complete(null);
      lost.completeExceptionally(new IllegalStateException("of the test"));
      var unused = lost.completeAsync(() -> null);
      assertEquals(null, lost.completeOnTimeout(null, 1, TimeUnit.MILLISECONDS).get());
      ExecutionException e =
          assertThrows(
              ExecutionException.class, () -> lost.orTimeout(1, TimeUnit.MILLISECONDS).get());
      assertTrue(e.getCause() instanceof TimeoutException);
      assertThrows(UnsupportedOperationException.class, () -> lost.obtrudeValue(null));
      assertFalse(lease.onLoss().isDone());
    }
  }
}
