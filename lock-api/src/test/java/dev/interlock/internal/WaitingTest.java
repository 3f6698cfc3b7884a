package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockOptions;
import dev.interlock.LockTimeoutException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Claim;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class WaitingTest extends EngineFixture {

  private static final Duration HUNDRED_TTLS = TTL.multipliedBy(100);

  @Test
  void tryAcquireDoesNotWaitForTheHolder() {
    store.occupy("a", HUNDRED_TTLS);
    assertEquals(Optional.empty(), engine.lock("a").tryAcquire());
    assertEquals(1, store.calls(FakeStore.Op.ACQUIRE));
  }

  @Test
  void tryAcquireBehindALeaseOfTheSameClientSendsNoRequest() throws Exception {
    try (Lease lease = acquire(RENEWED)) {
      assertEquals(Optional.empty(), engine.lock("a").tryAcquire());
      assertEquals(1, store.calls(FakeStore.Op.ACQUIRE));
      assertTrue(lease.isHeld());
    }
  }

  @Test
  void aRequestGetsNoMoreTimeThanItsCallerHas() throws Exception {
    Duration minTimeout = Duration.ofMillis(250);
    assertTrue(engine.lock("a").tryAcquire(Duration.ofMillis(600)).isPresent());
    assertEquals(Duration.ofMillis(600), store.attemptTimeout());
    assertTrue(engine.lock("b").tryAcquire(Duration.ofMillis(1)).isPresent());
    assertEquals(minTimeout, store.attemptTimeout());
    assertTrue(engine.lock("c").tryAcquire(HUNDRED_TTLS).isPresent());
    assertEquals(REQUEST_TIMEOUT, store.attemptTimeout());
    assertTrue(engine.lock("d").tryAcquire().isPresent());
    assertEquals(REQUEST_TIMEOUT, store.attemptTimeout());
    engine.multiLock(List.of("e")).tryAcquire(Duration.ofMillis(1)).orElseThrow().close();
    assertEquals(minTimeout, store.attemptTimeout());
  }

  @Test
  void aTimeoutOfZeroIsOneAttempt() throws Exception {
    try (Lease lease = engine.lock("a").tryAcquire(Duration.ZERO).orElseThrow()) {
      assertEquals(REQUEST_TIMEOUT, store.attemptTimeout());
      assertEquals(Optional.empty(), engine.lock("a").tryAcquire(Duration.ZERO));
      assertEquals(Optional.empty(), get(engine.lock("a").tryAcquireAsync(Duration.ZERO)));
      assertEquals(Optional.empty(), engine.multiLock(List.of("a")).tryAcquire(Duration.ZERO));
      assertTrue(lease.isHeld());
    }
    get(engine.lock("a").tryAcquireAsync(Duration.ZERO)).orElseThrow().close();
    get(engine.multiLock(List.of("a")).tryAcquireAsync(Duration.ZERO)).orElseThrow().close();
    Duration negative = Duration.ofNanos(-1);
    assertThrows(IllegalArgumentException.class, () -> engine.lock("a").tryAcquire(negative));
  }

  @Test
  void aTimedAttemptEndsExactlyAtItsDeadline() throws Exception {
    store.occupy("a", HUNDRED_TTLS);
    Background<Optional<Lease>> waiter =
        inBackground(() -> engine.lock("a").tryAcquire(Duration.ofSeconds(5)));
    advanceInSteps(waiter, Duration.ofMillis(4_999));
    assertFalse(waiter.result.isDone());
    time.advance(Duration.ofMillis(1));
    assertEquals(Optional.empty(), waiter.get());
    assertEquals(0, store.watchers());
    assertEquals(0, engine.holdings.queues.size());
  }

  /** The store may have reserved the lock for it. */
  @Test
  void theLastAttemptOfAWaiterIsKnownAsOne() throws Exception {
    store.occupy("a", HUNDRED_TTLS);
    assertEquals(Optional.empty(), engine.lock("a").tryAcquire());
    Background<Optional<Lease>> waiter =
        inBackground(() -> engine.lock("a").tryAcquire(Duration.ofSeconds(5)));
    advanceInSteps(waiter, Duration.ofSeconds(5));
    assertEquals(Optional.empty(), waiter.get());
    List<Duration> reservations = store.attempted().stream().map(Claim::reservation).toList();
    assertEquals(Duration.ZERO, reservations.get(0), "an attempt that does not wait");
    assertFalse(
        reservations.subList(1, reservations.size()).contains(Duration.ZERO),
        reservations::toString);
  }

  @Test
  void aTimedAttemptRetriesAStoreThatIsDownAndThenReportsIt() throws Exception {
    store.down(true);
    Background<Optional<Lease>> waiter =
        inBackground(() -> engine.lock("a").tryAcquire(Duration.ofSeconds(5)));
    advanceInSteps(waiter, Duration.ofMillis(4_999));
    assertFalse(waiter.result.isDone());
    int tries = store.calls(FakeStore.Op.ACQUIRE);
    assertTrue(tries > 3, () -> "tried " + tries + " times");
    time.advance(Duration.ofMillis(1));
    assertInstanceOf(
        LockUnavailableException.class,
        assertThrows(ExecutionException.class, waiter::get).getCause());
  }

  @Test
  void aTimedAttemptSucceedsWhenTheStoreComesBack() throws Exception {
    store.down(true);
    Background<Optional<Lease>> waiter =
        inBackground(() -> engine.lock("a").tryAcquire(Duration.ofSeconds(5)));
    advanceInSteps(waiter, Duration.ofSeconds(2));
    store.down(false);
    advanceInSteps(waiter, Duration.ofSeconds(2));
    assertTrue(waiter.get().isPresent());
  }

  @Test
  void anUnlimitedAttemptFailsWhenTheStoreHasBeenDownForATtl() throws Exception {
    store.down(true);
    Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    advanceInSteps(waiter, TTL.minusMillis(1));
    assertFalse(waiter.result.isDone());
    advanceInSteps(waiter, Duration.ofSeconds(2));
    assertInstanceOf(
        LockUnavailableException.class,
        assertThrows(ExecutionException.class, waiter::get).getCause());
  }

  @Test
  void theWaitTimeoutIsAFailure() throws Exception {
    store.occupy("a", HUNDRED_TTLS);
    LockOptions options = RENEWED.toBuilder().waitTimeout(Duration.ofSeconds(3)).build();
    Background<Lease> waiter = inBackground(() -> engine.lock("a", like(options)).acquire());
    advanceInSteps(waiter, Duration.ofSeconds(3));
    assertInstanceOf(
        LockTimeoutException.class, assertThrows(ExecutionException.class, waiter::get).getCause());
  }

  @Test
  void aReleaseElsewhereWakesTheWaiter() throws Exception {
    store.occupy("a", HUNDRED_TTLS);
    Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    Waits.until("the watch", () -> store.watchers() == 1);
    store.free("a");
    assertTrue(waiter.get().isHeld());
    assertEquals(0, store.watchers());
  }

  @Test
  void aWaiterPollsWithoutASignal() throws Exception {
    store.occupy("a", HUNDRED_TTLS);
    Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    Waits.until("the watch", () -> store.watchers() == 1);
    time.awaitAsleep(waiter.thread);
    store.delete("a");
    advanceInSteps(waiter, Duration.ofMillis(1_100));
    assertTrue(waiter.get().isHeld());
  }

  @Test
  void messagesDoNotShortenThePausesOfAnOutage() throws Exception {
    store.occupy("a", HUNDRED_TTLS);
    Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    Waits.until("the watch", () -> store.watchers() == 1);
    time.awaitAsleep(waiter.thread);
    store.down(true);
    store.free("a");
    time.awaitAsleep(waiter.thread);
    int failed = store.calls(FakeStore.Op.ACQUIRE);
    for (int i = 0; i < 10; i++) {
      store.free("a");
      time.awaitAsleep(waiter.thread);
    }
    assertEquals(failed, store.calls(FakeStore.Op.ACQUIRE));
    store.down(false);
    advanceUntil("the grant", waiter.result::isDone);
    assertTrue(waiter.get().isHeld());
  }

  @Test
  void closingEndsThePauseOfAnOutage() throws Exception {
    store.down(true);
    Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    time.awaitAsleep(waiter.thread);
    Background<Boolean> closing =
        inBackground(
            () -> {
              engine.close();
              return true;
            });
    try {
      assertInstanceOf(
          IllegalStateException.class,
          assertThrows(ExecutionException.class, waiter::get).getCause());
    } finally {
      // Closing waits for the waiter, so it would not end either.
      advanceUntil("the end of the client", closing.result::isDone);
    }
  }

  @Test
  void anInterruptEndsTheWaitAndLeavesNothing() throws Exception {
    store.occupy("a", HUNDRED_TTLS);
    Background<Lease> contender = inBackground(() -> engine.lock("a").acquire());
    time.awaitAsleep(contender.thread);
    Background<Lease> behind = inBackground(() -> engine.lock("a").acquire());
    time.awaitAsleep(behind.thread);
    behind.thread.interrupt();
    assertInterrupted(behind);
    contender.thread.interrupt();
    assertInterrupted(contender);
    assertEquals(0, store.watchers());
    assertEquals(0, engine.holdings.queues.size());
  }

  @Test
  void theOutageTimeoutIsAnOptionWhichIsTheTtlByDefault() throws Exception {
    for (Duration outage : List.of(TTL.dividedBy(3), TTL.multipliedBy(3))) {
      assertEquals(outage, timeToFailure(options -> options.outageTimeout(outage)), "" + outage);
    }
    assertEquals(TTL, timeToFailure(options -> {}));
  }

  /** Returns the time in whole multiples of the shortest expected time. */
  private Duration timeToFailure(Consumer<LockOptions.Builder> change) throws Exception {
    store.down(true);
    long begun = time.nanoTime();
    Background<Lease> waiter = inBackground(() -> engine.lock("a", change).acquire());
    advanceUntil("the end of the wait", waiter.result::isDone);
    assertInstanceOf(
        LockUnavailableException.class,
        assertThrows(ExecutionException.class, waiter::get).getCause());
    Duration unit = TTL.dividedBy(3);
    return unit.multipliedBy((time.nanoTime() - begun) / unit.toNanos());
  }

  @Test
  void everyWaiterOfANameFailsWithTheSameOutage() throws Exception {
    store.down(true);
    List<Background<Lease>> waiters = new ArrayList<>();
    List<CompletableFuture<Lease>> futures = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      waiters.add(inBackground(() -> engine.lock("a").acquire()));
      futures.add(engine.lock("a").acquireAsync());
    }
    Waits.until("the waiters", () -> engine.holdings.queues.waiterCount() == 9);
    long begun = time.nanoTime();
    advanceUntil(
        "the failures",
        () ->
            waiters.stream().allMatch(waiter -> waiter.result.isDone())
                && futures.stream().allMatch(CompletableFuture::isDone));
    waiters.forEach(waiter -> assertUnavailable(waiter.result));
    futures.forEach(WaitingTest::assertUnavailable);
    Duration lasted = Duration.ofNanos(time.nanoTime() - begun);
    assertTrue(lasted.compareTo(TTL.plus(REQUEST_TIMEOUT)) <= 0, "lasted " + lasted);
  }

  @Test
  void aHeadWithALongerOutageTimeoutDoesNotKeepOthersWaiting() throws Exception {
    store.down(true);
    Background<?> head = inBackground(() -> engine.lock("a").tryAcquire(HUNDRED_TTLS));
    Waits.until("the head", () -> engine.holdings.queues.of("a").contender() != null);
    Background<Lease> behind = inBackground(() -> engine.lock("a").acquire());
    Waits.until("the waiter", () -> engine.holdings.queues.waiterCount() == 1);
    long begun = time.nanoTime();
    advanceUntil("the failure", behind.result::isDone);
    assertUnavailable(behind.result);
    Duration lasted = Duration.ofNanos(time.nanoTime() - begun);
    assertTrue(lasted.compareTo(TTL.plus(REQUEST_TIMEOUT).plusSeconds(1)) <= 0, "lasted " + lasted);
    assertFalse(head.result.isDone());
    head.thread.interrupt();
  }

  @Test
  void aCallerThatComesDuringAnOutageHasItsOwnOutageTimeout() throws Exception {
    store.down(true);
    Background<?> head = inBackground(() -> engine.lock("a").tryAcquire(HUNDRED_TTLS));
    time.awaitAsleep(head.thread);
    advanceInSteps(head, TTL.multipliedBy(2));
    Background<Lease> late = inBackground(() -> engine.lock("a").acquire());
    Waits.until("the waiter", () -> engine.holdings.queues.waiterCount() == 1);
    advanceInSteps(head, TTL.dividedBy(2));
    store.down(false);
    advanceUntil("the head's grant", head.result::isDone);
    ((Optional<?>) head.get()).ifPresent(lease -> ((Lease) lease).close());
    assertTrue(late.get().isHeld());
  }

  @Test
  void noRequestOutlastsTheOutageTimeoutOfItsCaller() throws Exception {
    Duration outageTimeout = REQUEST_TIMEOUT.dividedBy(2);
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    Background<Lease> waiter =
        inBackground(
            () -> engine.lock("a", options -> options.outageTimeout(outageTimeout)).acquire());
    gate.awaitArrival();
    assertEquals(outageTimeout, store.attemptTimeout());
    gate.open();
    assertTrue(waiter.get().isHeld());
  }

  @Test
  void aPauseOfTheProcessIsNoOutage() throws Exception {
    store.down(true);
    Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    time.awaitAsleep(waiter.thread);
    time.advance(TTL.multipliedBy(10));
    time.awaitAsleep(waiter.thread);
    store.down(false);
    advanceUntil("the grant", waiter.result::isDone);
    assertTrue(waiter.get().isHeld());
  }

  private static void assertUnavailable(CompletableFuture<?> waiter) {
    assertInstanceOf(
        LockUnavailableException.class,
        assertThrows(ExecutionException.class, () -> get(waiter)).getCause());
  }

  @Test
  void anInterruptInTheMiddleOfARequestUndoesIt() throws Exception {
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    gate.awaitArrival();
    waiter.thread.interrupt();
    assertInterrupted(waiter);
    Waits.until("the undo", () -> store.calls(FakeStore.Op.RELEASE) == 1);
  }

  private static void assertInterrupted(Background<Lease> waiter) {
    assertInstanceOf(
        InterruptedException.class, assertThrows(ExecutionException.class, waiter::get).getCause());
  }

  @Test
  void cancellingAFutureThatContendsEndsTheAcquireLoop() throws Exception {
    store.occupy("a", HUNDRED_TTLS);
    CompletableFuture<Lease> future = engine.lock("a").acquireAsync();
    Waits.until("the watch", () -> store.watchers() == 1);
    assertTrue(future.cancel(false));
    Waits.until("the end of the acquire loop", () -> engine.holdings.queues.size() == 0);
    assertEquals(0, store.watchers());
    store.free("a");
    assertFalse(store.holds("a"));
  }

  @Test
  void aCancelDuringTheGrantReleasesTheLock() throws Exception {
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    CompletableFuture<Lease> future = engine.lock("a").acquireAsync();
    gate.awaitArrival();
    gate.open();
    if (future.cancel(false)) {
      Waits.until(
          "the lock to be free", () -> !store.holds("a") && engine.holdings.queues.size() == 0);
    } else {
      get(future).close();
    }
  }

  @Test
  void aFutureTimesOutInTheLocalQueue() throws Exception {
    try (Lease lease = acquire(RENEWED)) {
      CompletableFuture<Optional<Lease>> future =
          engine.lock("a").tryAcquireAsync(Duration.ofSeconds(1));
      time.advance(Duration.ofSeconds(1));
      assertEquals(Optional.empty(), get(future));
      assertTrue(lease.isHeld());
    }
    assertEquals(0, engine.holdings.queues.size());
  }

  @Test
  void aThousandFuturesWaitForOneNameWithoutAThreadEach() throws Exception {
    Lease lease = acquire(RENEWED);
    CompletableFuture<?>[] waiters = new CompletableFuture<?>[1_000];
    int before = Thread.activeCount();
    for (int i = 0; i < waiters.length; i++) {
      waiters[i] = engine.lock("a").acquireAsync().thenAccept(Lease::close);
    }
    assertTrue(Thread.activeCount() <= before + 1);
    lease.close();
    get(CompletableFuture.allOf(waiters));
  }

  private void advanceInSteps(Background<?> waiter, Duration total) {
    Duration remaining = total;
    Duration step = Duration.ofMillis(100);
    while (!remaining.isZero() && !waiter.result.isDone()) {
      awaitAsleepOrDone(waiter);
      Duration next = remaining.compareTo(step) < 0 ? remaining : step;
      time.advance(next);
      remaining = remaining.minus(next);
    }
    awaitAsleepOrDone(waiter);
  }

  private void awaitAsleepOrDone(Background<?> waiter) {
    Waits.until("the waiter to wait", () -> waiter.result.isDone() || time.isAsleep(waiter.thread));
  }
}
