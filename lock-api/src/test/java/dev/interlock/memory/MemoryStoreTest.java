package dev.interlock.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.spi.Claim;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class MemoryStoreTest {

  private static final LockOptions FIXED =
      LockOptions.builder().ttl(Duration.ofMillis(200)).autoRenew(false).build();

  private static void awaitWaiters(LockClient client, int count) {
    while (client.inspect("a").waiters().size() < count) {
      Thread.onSpinWait();
    }
  }

  @Test
  void namesThatNobodyAsksForAgainAreForgottenAfterTheirTtl() {
    MemoryStore store = MemoryStore.open("forgetful");
    try {
      long ttl = FIXED.ttl().toNanos();
      for (int i = 0; i < 10_000; i++) {
        Claim claim = new Claim("name " + i, "claim " + i, FIXED.ttl(), false, "test");
        // Ten of them at a time are within their TTLs.
        store.tryAcquire(
            new MemoryStore.Place(claim, TimeSource.system(), (lost, reason, detail) -> {}),
            i * ttl / 10);
      }
      assertTrue(store.size() < 100, () -> store.size() + " entries");
    } finally {
      store.close();
    }
  }

  @Test
  void aForcedReleaseTellsTheHolderAtOnce() throws Exception {
    try (LockClient one = LockClient.open("memory:forced");
        LockClient two = LockClient.open("memory:forced")) {
      BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
      Lease lease = one.lock("a").acquire();
      lease.onEvent(events::add);
      assertTrue(two.forceRelease("a"));
      LockEvent event = events.poll(30, TimeUnit.SECONDS);
      assertTrue(event instanceof LockEvent.Lost, () -> "" + event);
      assertEquals(LossReason.TAKEN, lease.lost().get(30, TimeUnit.SECONDS).reason());
      assertFalse(two.forceRelease("a"));
    }
  }

  @Test
  void tokensGoOnIncreasingWhenTheStoreIsClosedAndOpenedAgain() throws Exception {
    long before;
    try (LockClient client = LockClient.open("memory:again");
        Lease lease = client.lock("a").acquire()) {
      before = lease.fencingToken();
    }
    try (LockClient client = LockClient.open("memory:again");
        Lease lease = client.lock("a").acquire()) {
      assertTrue(lease.fencingToken() > before);
    }
  }

  @Test
  void closingAClientThatWaitsLeavesTheLine() throws Exception {
    try (LockClient holder = LockClient.open("memory:leave");
        Lease lease = holder.lock("a").acquire()) {
      LockClient waiting = LockClient.open("memory:leave?requestTimeout=30s");
      CompletableFuture<Lease> waiter = waiting.lock("a").acquireAsync();
      awaitWaiters(holder, 1);
      waiting.close();
      assertEquals(List.of(), holder.inspect("a").waiters());
      assertTrue(lease.isHeld());
      assertTrue(
          waiter.handle((l, e) -> e instanceof IllegalStateException).get(30, TimeUnit.SECONDS));
    }
  }
}
