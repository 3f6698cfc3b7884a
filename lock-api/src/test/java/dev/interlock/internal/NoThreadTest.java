package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.DistributedSemaphore;
import dev.interlock.Lease;
import dev.interlock.LockUnavailableException;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Asynchronous acquisitions for which no thread is free, as on a JVM without virtual threads. */
class NoThreadTest extends EngineFixture {

  private static final Duration TIMEOUT = Duration.ofMillis(300);

  private final DefaultLockClient client =
      new DefaultLockClient(store::open, RENEWED, new OneThread(time));

  @BeforeEach
  void occupyTheThreads() {
    store.occupy("held", TTL.multipliedBy(100));
    var single = client.lock("held").acquireAsync();
    Waits.until("the thread to be taken", () -> store.watchers() == 1);
    store.occupy("held too", TTL.multipliedBy(100));
    var set = client.multiLock(List.of("held too")).acquireAsync();
    Waits.until("the thread for sets to be taken", () -> store.watchers() == 2);
    assertTrue(!single.isDone() && !set.isDone());
  }

  @AfterEach
  void closeClient() {
    client.close();
  }

  private void assertFree() {
    assertTrue(client.lock("free").tryAcquire().isPresent());
    assertEquals(2, store.watchers());
  }

  @Test
  void theTimeOutHoldsUntilThereIsAThread() throws Exception {
    CompletableFuture<Optional<Lease>> future = client.lock("free").tryAcquireAsync(TIMEOUT);
    time.advance(TIMEOUT);
    ExecutionException failure = assertThrows(ExecutionException.class, () -> get(future));
    assertInstanceOf(LockUnavailableException.class, failure.getCause());
    assertFree();
  }

  @Test
  void aCancelledFutureLeavesTheNameFreeAtOnce() throws Exception {
    CompletableFuture<Lease> future = client.lock("free").acquireAsync();
    assertTrue(future.cancel(false));
    assertFree();
  }

  @Test
  void aFutureThatTheProgramCompletesLeavesTheNameFreeAtOnce() throws Exception {
    CompletableFuture<Lease> future = client.lock("free").acquireAsync();
    assertTrue(future.completeExceptionally(new IllegalStateException("had enough")));
    assertFree();
  }

  @Test
  void aHeadWithoutAThreadTimesOutAsWell() throws Exception {
    Lease first = client.lock("free", like(FIXED)).acquire();
    CompletableFuture<Optional<Lease>> future = client.lock("free").tryAcquireAsync(TIMEOUT);
    first.close(); // no handoff to another kind of lease
    time.advance(TIMEOUT);
    assertThrows(ExecutionException.class, () -> get(future));
    assertFree();
  }

  @Test
  void theTimeOutOfASetHoldsUntilThereIsAThread() throws Exception {
    CompletableFuture<Optional<MultiLease>> future =
        client.multiLock(List.of("free", "free too")).tryAcquireAsync(TIMEOUT);
    time.advance(TIMEOUT);
    ExecutionException failure = assertThrows(ExecutionException.class, () -> get(future));
    assertInstanceOf(LockUnavailableException.class, failure.getCause());
    assertFree();
  }

  @Test
  void theClientThatIsClosedEndsThem() {
    CompletableFuture<Lease> single = client.lock("free").acquireAsync();
    CompletableFuture<MultiLease> set =
        client.multiLock(List.of("free", "free too")).acquireAsync();
    client.close();
    assertThrows(ExecutionException.class, () -> get(single));
    assertThrows(ExecutionException.class, () -> get(set));
    Waits.until("nothing to be left", () -> client.residue() == 0);
  }

  @Test
  void noPermitPassesAHeadThatWaitsForAThreadAndWantsMore() throws Exception {
    store.occupy("a", Share.ofSemaphore(2, 3), TTL.multipliedBy(100));
    DistributedSemaphore semaphore = client.semaphore("a", 3);
    Lease permit = semaphore.acquire();
    Background<Lease> first = inBackground(semaphore::acquire);
    time.awaitAsleep(first.thread);
    CompletableFuture<Lease> two = semaphore.permits(2).acquireAsync();
    CompletableFuture<Lease> later = semaphore.acquireAsync();
    assertEquals(ReleaseOutcome.HANDED_OFF, permit.release());
    Lease next = first.get();
    Waits.until("two permits to be wanted next", () -> client.holdings.queues.waiterCount() == 1);
    assertEquals(ReleaseOutcome.RELEASED, next.release());
    assertFalse(later.isDone());
    two.cancel(false);
    later.cancel(false);
  }
}
