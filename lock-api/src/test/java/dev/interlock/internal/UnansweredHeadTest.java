package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockUnavailableException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Callers whose deadline passes while the store has not answered the head of their queue. */
class UnansweredHeadTest extends EngineFixture {

  private FakeStore.Gate gate;
  private Background<Lease> head;

  @BeforeEach
  void begin() throws Exception {
    gate = store.gate(FakeStore.Op.ACQUIRE);
    head = inBackground(() -> engine.lock("a").acquire());
    gate.awaitArrival();
  }

  @AfterEach
  void end() {
    gate.open();
    head.thread.interrupt();
  }

  private List<CompletableFuture<Optional<Lease>>> tries() {
    List<CompletableFuture<Optional<Lease>>> tries = new ArrayList<>();
    tries.add(tried(() -> engine.lock("a").tryAcquire()));
    tries.add(tried(() -> engine.lock("a").tryAcquire(Duration.ofMillis(500))));
    tries.add(engine.lock("a").tryAcquireAsync());
    tries.add(engine.lock("a").tryAcquireAsync(Duration.ofMillis(500)));
    Waits.until("the tries to wait", () -> engine.holdings.queues.waiterCount() == tries.size());
    return tries;
  }

  private CompletableFuture<Optional<Lease>> tried(
      java.util.concurrent.Callable<Optional<Lease>> attempt) {
    Background<Optional<Lease>> background = inBackground(attempt);
    time.awaitAsleep(background.thread);
    return background.result;
  }

  private static void assertUnavailable(CompletableFuture<Optional<Lease>> attempt) {
    assertInstanceOf(
        LockUnavailableException.class,
        assertThrows(ExecutionException.class, () -> get(attempt)).getCause());
  }

  @Test
  void aFailureOfTheStoreDoesNotCountAsAHeldLock() {
    List<CompletableFuture<Optional<Lease>>> tries = tries();
    time.advance(Duration.ofMillis(501));
    store.down(true);
    gate.open();
    tries.forEach(UnansweredHeadTest::assertUnavailable);
  }

  @Test
  void aSilentStoreDoesNotCountAsAHeldLock() {
    List<CompletableFuture<Optional<Lease>>> tries = tries();
    time.advance(Duration.ofMillis(750));
    assertUnavailable(tries.get(1));
    assertUnavailable(tries.get(3));
    time.advance(REQUEST_TIMEOUT);
    tries.forEach(UnansweredHeadTest::assertUnavailable);
    assertEquals(0, engine.holdings.queues.waiterCount());
  }

  @Test
  void theHeadsAnswerIsTheAnswerOfTheWaitersBehindIt() throws Exception {
    store.occupy("a", TTL);
    List<CompletableFuture<Optional<Lease>>> tries = tries();
    time.advance(Duration.ofMillis(501));
    gate.open();
    for (CompletableFuture<Optional<Lease>> each : tries) {
      assertEquals(Optional.empty(), get(each));
    }
  }

  @Test
  void theHeadsGrantIsTheAnswerOfTheWaitersBehindIt() throws Exception {
    List<CompletableFuture<Optional<Lease>>> tries = tries();
    time.advance(Duration.ofMillis(501));
    gate.open();
    assertTrue(head.get().isHeld());
    for (CompletableFuture<Optional<Lease>> each : tries) {
      assertEquals(Optional.empty(), get(each));
    }
  }

  @Test
  void theNextWaiterAsksIfTheHeadIsInterrupted() throws Exception {
    Background<Optional<Lease>> next = inBackground(() -> engine.lock("a").tryAcquire());
    time.awaitAsleep(next.thread);
    head.thread.interrupt();
    assertTrue(next.get().orElseThrow().isHeld());
  }

  @Test
  void anInterruptEndsTheWaitForTheAnswer() throws Exception {
    Background<Optional<Lease>> next =
        inBackground(() -> engine.lock("a").tryAcquire(Duration.ofMillis(500)));
    time.awaitAsleep(next.thread);
    time.advance(Duration.ofMillis(501));
    time.awaitAsleep(next.thread);
    next.thread.interrupt();
    assertInstanceOf(
        InterruptedException.class, assertThrows(ExecutionException.class, next::get).getCause());
    assertEquals(0, engine.holdings.queues.waiterCount());
  }
}
