package dev.interlock.internal;

import static dev.interlock.internal.EngineFixture.FIXED;
import static dev.interlock.internal.EngineFixture.RENEWED;
import static dev.interlock.internal.EngineFixture.TTL;
import static dev.interlock.internal.EngineFixture.get;
import static dev.interlock.internal.EngineFixture.inBackground;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockOptions;
import dev.interlock.internal.EngineFixture.Background;
import dev.interlock.memory.MemoryProvider;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The place of a client in the store's queue, passed from one of its waiters to the next. */
class QueuePlaceTest {

  private static final Duration SHORT_TIMEOUT = Duration.ofSeconds(1);
  private static final LockOptions LONG_TTL =
      RENEWED.toBuilder().ttl(TTL.multipliedBy(100)).autoRenew(false).build();

  private final ManualTime time = new ManualTime();
  private final DefaultLockClient holder = client();
  private final DefaultLockClient engine = client();
  private final DefaultLockClient stranger = client();

  private DefaultLockClient client() {
    return new DefaultLockClient(QueuePlaceTest::memory, RENEWED, time);
  }

  private static LockBackend memory(BackendContext context) {
    return new MemoryProvider().open(LockUri.parse("memory:queue-place-test"), context);
  }

  @AfterEach
  void close() {
    stranger.close();
    engine.close();
    holder.close();
  }

  private int waiters() {
    return holder.admin().inspect("a").waiters().size();
  }

  private Background<Lease> waiter(DefaultLockClient client, LockOptions options) {
    Background<Lease> waiter =
        inBackground(() -> client.lock("a", EngineFixture.like(options)).acquire());
    time.awaitAsleep(waiter.thread);
    return waiter;
  }

  @Test
  void theNextWaiterContinuesThePlaceOfOneThatTimedOut() throws Exception {
    Lease blocking = holder.lock("a", EngineFixture.like(LONG_TTL)).acquire();
    Background<Optional<Lease>> timed =
        inBackground(() -> engine.lock("a", EngineFixture.like(RENEWED)).tryAcquire(SHORT_TIMEOUT));
    time.awaitAsleep(timed.thread);
    Background<Lease> patient = waiter(engine, RENEWED);
    Background<Lease> later = waiter(stranger, RENEWED);
    time.advance(SHORT_TIMEOUT);
    assertEquals(Optional.empty(), timed.get());
    time.awaitAsleep(patient.thread);
    assertEquals(2, waiters());
    blocking.close();
    Lease next = patient.get();
    assertFalse(later.result.isDone());
    next.close();
    later.get().close();
  }

  @Test
  void theNextWaiterContinuesThePlaceOfOneThatWasInterrupted() throws Exception {
    Lease blocking = holder.lock("a", EngineFixture.like(LONG_TTL)).acquire();
    Background<Lease> first = waiter(engine, RENEWED);
    CompletableFuture<Lease> patient = engine.lock("a", EngineFixture.like(RENEWED)).acquireAsync();
    Background<Lease> later = waiter(stranger, RENEWED);
    first.thread.interrupt();
    assertThrows(ExecutionException.class, first::get);
    blocking.close();
    Lease next = get(patient);
    assertFalse(later.result.isDone());
    next.close();
    later.get().close();
  }

  @Test
  void aGrantDuringTheCancellationOfTheHeadGoesToTheNext() throws Exception {
    Lease blocking = holder.lock("a", EngineFixture.like(LONG_TTL)).acquire();
    CompletableFuture<Lease> first = engine.lock("a", EngineFixture.like(RENEWED)).acquireAsync();
    Waits.until("its place", () -> waiters() == 1);
    Background<Lease> patient = waiter(engine, RENEWED);
    blocking.close();
    if (!first.cancel(false)) {
      get(first).close();
    }
    patient.get().close();
    Waits.until("the lock to be free", () -> !holder.admin().inspect("a").isHeld());
    Waits.until("nothing to be left", () -> engine.residue() == 0);
  }

  @Test
  void aPlaceIsOfNoUseForAnotherKindOfLease() throws Exception {
    Lease blocking = holder.lock("a", EngineFixture.like(LONG_TTL)).acquire();
    Background<Lease> first = waiter(engine, FIXED);
    Background<Lease> patient = waiter(engine, RENEWED);
    first.thread.interrupt();
    assertThrows(ExecutionException.class, first::get);
    Waits.until("the other place", () -> time.isAsleep(patient.thread) && waiters() == 1);
    blocking.close();
    try (Lease lease = patient.get()) {
      for (int i = 0; i < 9; i++) {
        time.advance(TTL.dividedBy(3));
        Waits.until("a renewal", () -> lease.remainingValidity().equals(TTL));
      }
    }
    Waits.until("nothing to be left", () -> engine.residue() == 0);
  }

  @Test
  void aPlaceWithoutAHeadIsWithdrawn() throws Exception {
    Lease blocking = holder.lock("a", EngineFixture.like(LONG_TTL)).acquire();
    CompletableFuture<Lease> first = engine.lock("a", EngineFixture.like(RENEWED)).acquireAsync();
    Waits.until("its place", () -> waiters() == 1);
    CompletableFuture<Lease> second = engine.lock("a", EngineFixture.like(RENEWED)).acquireAsync();
    assertTrue(second.cancel(false));
    assertTrue(first.cancel(false));
    Waits.until("the queue to be empty", () -> waiters() == 0 && engine.residue() == 0);
    assertTrue(blocking.isHeld());
    blocking.close();
  }

  @Test
  void closingTheClientWithdrawsThePlace() throws Exception {
    Lease blocking = holder.lock("a", EngineFixture.like(LONG_TTL)).acquire();
    Background<Lease> first = waiter(engine, RENEWED);
    Background<Lease> patient = waiter(engine, RENEWED);
    first.thread.interrupt();
    assertThrows(ExecutionException.class, first::get);
    engine.close();
    assertThrows(ExecutionException.class, patient::get);
    Waits.until("the queue to be empty", () -> waiters() == 0 && engine.residue() == 0);
    blocking.close();
  }

  /** Returns a client with one thread for all asynchronous heads, which waits for "b". */
  private DefaultLockClient clientWithoutThreads() throws Exception {
    DefaultLockClient client =
        new DefaultLockClient(QueuePlaceTest::memory, RENEWED, new OneThread(time));
    var occupying = client.lock("b").acquireAsync();
    Waits.until("its place", () -> holder.admin().inspect("b").waiters().size() == 1);
    assertFalse(occupying.isDone());
    return client;
  }

  @Test
  void aPlaceWhoseNextHeadGetsNoThreadBlocksOthersOnlyBriefly() throws Exception {
    Lease occupied = holder.lock("b", EngineFixture.like(LONG_TTL)).acquire();
    Lease blocking = holder.lock("a", EngineFixture.like(LONG_TTL)).acquire();
    DefaultLockClient busy = clientWithoutThreads();
    try (busy) {
      Background<Optional<Lease>> timed =
          inBackground(() -> busy.lock("a").tryAcquire(SHORT_TIMEOUT));
      time.awaitAsleep(timed.thread);
      CompletableFuture<Lease> threadless = busy.lock("a").acquireAsync();
      Background<Lease> later = waiter(stranger, RENEWED);
      time.advance(SHORT_TIMEOUT);
      assertEquals(Optional.empty(), timed.get());
      blocking.close();
      long before = time.nanoTime();
      EngineFixture.advanceUntil(time, "the stranger to hold it", later.result::isDone);
      // Not only at the end of a TTL, which a store with sessions does not have.
      assertTrue(time.nanoTime() - before < TTL.dividedBy(2).toNanos());
      assertFalse(threadless.isDone());
      later.get().close();
      occupied.close();
      get(threadless).close();
    }
  }

  @Test
  void aPlaceWhoseNextHeadGetsAThreadInTimeIsKept() throws Exception {
    Lease occupied = holder.lock("b", EngineFixture.like(LONG_TTL)).acquire();
    Lease blocking = holder.lock("a", EngineFixture.like(LONG_TTL)).acquire();
    DefaultLockClient busy = clientWithoutThreads();
    try (busy) {
      Background<Optional<Lease>> timed =
          inBackground(() -> busy.lock("a").tryAcquire(SHORT_TIMEOUT));
      time.awaitAsleep(timed.thread);
      CompletableFuture<Lease> patient = busy.lock("a").acquireAsync();
      Background<Lease> later = waiter(stranger, RENEWED);
      time.advance(SHORT_TIMEOUT);
      assertEquals(Optional.empty(), timed.get());
      occupied.close();
      blocking.close();
      Lease next = get(patient);
      assertFalse(later.result.isDone());
      next.close();
      later.get().close();
    }
  }
}
