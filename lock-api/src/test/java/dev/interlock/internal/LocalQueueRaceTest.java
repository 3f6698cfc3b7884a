package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.Share;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Races of the local queue that take more calls than a check of every schedule can make. */
class LocalQueueRaceTest extends EngineFixture {

  @Test
  void aNameThatIsForgottenAllTheTimeNeverHasTwoHeads() throws Exception {
    LocalQueue.Index queues = new LocalQueue.Index(0);
    AtomicInteger heads = new AtomicInteger();
    AtomicBoolean hadTwoHeads = new AtomicBoolean();
    List<CompletableFuture<Void>> threads = new ArrayList<>();
    for (int thread = 0; thread < 3; thread++) {
      threads.add(
          CompletableFuture.runAsync(
              () -> {
                for (int i = 0; i < 200_000; i++) {
                  if (queues.tryEnter("a", Share.EXCLUSIVE)) {
                    heads.incrementAndGet();
                    spin(i);
                    if (heads.get() > 1) {
                      hadTwoHeads.set(true);
                    }
                    heads.decrementAndGet();
                    queues.of("a").promoteNext();
                  }
                }
              }));
    }
    for (CompletableFuture<Void> thread : threads) {
      thread.get(60, TimeUnit.SECONDS);
    }
    assertFalse(hadTwoHeads.get());
    assertTrue(queues.size() == 0);
  }

  /**
   * A closing client that did not find the next contender's acquire loop could not end its wait.
   */
  @Test
  void clearingAFormerContenderDoesNotClearTheNextOne() throws Exception {
    LocalQueue.Index queues = new LocalQueue.Index(0);
    assertTrue(queues.tryEnter("a", Share.EXCLUSIVE));
    Request request = acquireRequest(RENEWED);
    AtomicReference<Contender> former =
        new AtomicReference<>(new Contender(engine.holdings, queues.of("a"), request));
    AtomicBoolean over = new AtomicBoolean();
    CompletableFuture<Void> ending =
        CompletableFuture.runAsync(
            () -> {
              while (!over.get()) {
                queues.of("a").clearContender(former.get());
              }
            });
    int cleared = 0;
    for (int i = 0; i < 300_000; i++) {
      Contender next = new Contender(engine.holdings, queues.of("a"), request);
      spin(i);
      queues.of("a").setContender(next);
      cleared += queues.of("a").contender() == next ? 0 : 1;
      former.set(next);
    }
    over.set(true);
    ending.get(60, TimeUnit.SECONDS);
    assertEquals(0, cleared);
  }

  /** Spins for a time that depends on the round. */
  private static void spin(int round) {
    for (int i = round % 64; i > 0; i--) {
      Thread.onSpinWait();
    }
  }
}
