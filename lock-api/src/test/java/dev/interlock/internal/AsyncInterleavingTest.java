package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.MultiLease;
import dev.interlock.spi.Grant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** Leases on their way to a future or a thread, and events on that way. */
class AsyncInterleavingTest extends EngineFixture {

  private final InterceptedTime intercepted = new InterceptedTime(time);

  @Test
  void aFutureThatTheProgramCompletesLeavesTheQueue() throws Exception {
    Lease lease = acquire(RENEWED);
    CompletableFuture<Lease> future = engine.lock("a").acquireAsync();
    future.completeExceptionally(new IllegalStateException("had enough"));
    lease.close();
    assertEquals(1, store.calls(FakeStore.Op.RELEASE));
    assertEquals(1, store.calls(FakeStore.Op.ACQUIRE));
    assertEquals(0, engine.residue());
    time.advance(Duration.ofSeconds(1));
    assertEquals(0, engine.engine.timer.size());
  }

  @Test
  void aSetWhoseFutureTheProgramCompletesIsReleased() throws Exception {
    store.occupy("b", TTL.multipliedBy(100));
    CompletableFuture<MultiLease> failed = engine.multiLock(List.of("a", "b")).acquireAsync();
    Waits.until("the watch", () -> store.watchers() == 1);
    failed.completeExceptionally(new TimeoutException("as orTimeout does"));
    Waits.until("all to be given up", () -> !store.holds("a") && engine.residue() == 0);
    CompletableFuture<MultiLease> completed = engine.multiLock(List.of("a", "b")).acquireAsync();
    Waits.until("the watch", () -> store.watchers() == 1);
    completed.complete(null);
    Waits.until("all to be given up", () -> !store.holds("a") && engine.residue() == 0);
  }

  @Test
  void aLeaseThatEndsOnItsWayToAFutureCountsAsNotGranted() throws Exception {
    try (DefaultLockClient client = new DefaultLockClient(store::open, RENEWED, intercepted)) {
      Lease first = client.lock("a").acquire();
      CompletableFuture<Lease> waiting = client.lock("a").acquireAsync();
      intercepted.when("deliver", () -> time.pass(TTL));
      first.close();
      Lease second = get(waiting);
      assertTrue(intercepted.hasRun());
      assertTrue(second.isHeld());
      assertTrue(second.fencingToken() - first.fencingToken() >= Grant.LEASES_PER_GRANT);
    }
  }

  @Test
  void aLeaseThatEndsOnItsWayToAThreadCountsAsNotGranted() throws Exception {
    try (DefaultLockClient client = new DefaultLockClient(store::open, RENEWED, intercepted)) {
      Lease first = client.lock("a").acquire();
      Background<Lease> waiting = inBackground(() -> client.lock("a").acquire());
      time.awaitAsleep(waiting.thread);
      intercepted.when("endIfOver", () -> time.pass(TTL));
      first.close();
      Lease second = waiting.get();
      assertTrue(intercepted.hasRun());
      assertTrue(second.isHeld());
      assertTrue(second.fencingToken() - first.fencingToken() >= Grant.LEASES_PER_GRANT);
    }
  }

  @Test
  void setsThatWaitDoNotKeepAFutureAheadOfThemWaiting() throws Exception {
    Lease lease = acquire(RENEWED);
    // Other settings, so that no lease is handed off to it and it must ask the store on a thread.
    CompletableFuture<Lease> ahead = engine.lock("a", like(FIXED)).acquireAsync();
    List<CompletableFuture<Void>> sets = new ArrayList<>();
    for (int i = 0; i < 256; i++) {
      sets.add(
          engine.multiLock(List.of("a", "b" + i)).acquireAsync().thenAccept(MultiLease::close));
    }
    Waits.until("all threads to wait", () -> engine.holdings.queues.waiterCount() == 257);
    lease.close();
    get(ahead).close();
    for (CompletableFuture<Void> set : sets) {
      get(set);
    }
    assertFalse(store.holds("a"));
  }
}
