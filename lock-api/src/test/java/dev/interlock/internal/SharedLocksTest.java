package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.DistributedReadWriteLock;
import dev.interlock.DistributedSemaphore;
import dev.interlock.Lease;
import dev.interlock.LockConfigurationException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Readers, writers and permits of one client. */
class SharedLocksTest extends EngineFixture {

  private final DistributedReadWriteLock lock = engine.readWriteLock("a");
  private final DistributedSemaphore semaphore = engine.semaphore("a", 3);

  @AfterEach
  void nothingIsLeft() {
    engine.close();
    assertEquals(0, engine.residue());
  }

  private void awaitWaiting(int count) {
    Waits.until(
        count + " to wait in this client", () -> engine.holdings.queues.waiterCount() == count);
  }

  // --- readers --------------------------------------------------------------------------------

  @Test
  void readersHoldTogetherAndAWriterAlone() throws Exception {
    Lease one = lock.readLock().acquire();
    Lease two = lock.readLock().tryAcquire().orElseThrow();
    assertEquals(2, store.holders("a"));
    assertEquals(Optional.empty(), lock.writeLock().tryAcquire());
    assertEquals(ReleaseOutcome.RELEASED, one.release());
    assertTrue(two.isHeld());
    assertEquals(ReleaseOutcome.RELEASED, two.release());
    try (Lease writer = lock.writeLock().tryAcquire().orElseThrow()) {
      assertTrue(writer.fencingToken() > two.fencingToken());
      assertEquals(Optional.empty(), lock.readLock().tryAcquire());
      assertEquals(Optional.empty(), lock.writeLock().tryAcquire());
    }
    assertFalse(store.holds("a"));
  }

  /** Returns leases of readers: the first asks the store, and the others come meanwhile. */
  private List<Lease> readersOfOneGrant(int count) throws Exception {
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    List<CompletableFuture<Lease>> readers = new ArrayList<>();
    readers.add(lock.readLock().acquireAsync());
    gate.awaitArrival();
    for (int i = 1; i < count; i++) {
      readers.add(lock.readLock().acquireAsync());
    }
    awaitWaiting(count - 1);
    gate.open();
    List<Lease> leases = new ArrayList<>();
    for (CompletableFuture<Lease> reader : readers) {
      leases.add(get(reader));
    }
    return leases;
  }

  @Test
  void readersThatWaitTogetherAreGrantedByOneRequestAndReleasedByOne() throws Exception {
    List<Lease> leases = readersOfOneGrant(20);
    assertEquals(1, store.calls(FakeStore.Op.ACQUIRE));
    Set<Long> tokens = new HashSet<>();
    leases.forEach(lease -> tokens.add(lease.fencingToken()));
    assertEquals(20, tokens.size());
    for (Lease lease : leases.subList(0, 19)) {
      assertEquals(ReleaseOutcome.HANDED_OFF, lease.release());
      assertEquals(ReleaseOutcome.HANDED_OFF, lease.release());
      assertFalse(lease.isHeld());
    }
    assertEquals(0, store.calls(FakeStore.Op.RELEASE));
    assertTrue(store.holds("a"));
    assertTrue(leases.get(19).isHeld());
    assertEquals(ReleaseOutcome.RELEASED, leases.get(19).release());
    assertEquals(1, store.calls(FakeStore.Op.RELEASE));
    assertFalse(store.holds("a"));
  }

  @Test
  void aGrantIsSharedByAsManyReadersAsItHasTokensFor() throws Exception {
    List<Lease> leases = readersOfOneGrant(Grant.LEASES_PER_GRANT + 10);
    assertEquals(2, store.calls(FakeStore.Op.ACQUIRE));
    assertEquals(2, store.holders("a"));
    Set<Long> tokens = new HashSet<>();
    for (Lease lease : leases) {
      assertTrue(tokens.add(lease.fencingToken()));
      lease.close();
    }
    assertEquals(0, store.holders("a"));
  }

  @Test
  void aReaderThatComesAfterTheGrantAsksTheStore() throws Exception {
    Lease one = lock.readLock().acquire();
    Lease two = lock.readLock().acquire();
    assertEquals(2, store.calls(FakeStore.Op.ACQUIRE));
    one.close();
    two.close();
    assertEquals(2, store.calls(FakeStore.Op.RELEASE));
  }

  @Test
  void readersOfOneGrantAreRenewedByOneRequestAndLostTogether() throws Exception {
    List<Lease> leases = readersOfOneGrant(5);
    time.advance(TTL.dividedBy(3));
    Waits.until("the renewal", () -> store.batches().equals(List.of(1)));
    store.reportLoss("a", LossReason.SESSION_ENDED);
    for (Lease lease : leases) {
      assertEquals(LossReason.SESSION_ENDED, get(lease.onLoss()).reason());
      assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
    }
    assertEquals(0, store.calls(FakeStore.Op.RELEASE));
  }

  @Test
  void aReaderThatComesToItsMaximumHoldLeavesTheGrantToTheOthers() throws Exception {
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    CompletableFuture<Lease> first = lock.readLock().acquireAsync();
    gate.awaitArrival();
    CompletableFuture<Lease> brief =
        engine
            .readWriteLock("a", options -> options.maxHold(Duration.ofSeconds(1)))
            .readLock()
            .acquireAsync();
    awaitWaiting(1);
    gate.open();
    Lease lasting = get(first);
    Lease limited = get(brief);
    time.advance(Duration.ofSeconds(1));
    assertEquals(LossReason.MAX_HOLD, get(limited.onLoss()).reason());
    assertTrue(lasting.isHeld());
    assertTrue(store.holds("a"));
    assertEquals(ReleaseOutcome.RELEASED, lasting.release());
    assertFalse(store.holds("a"));
  }

  @Test
  void theLastReaderReleasesTheGrantAlsoWhenItIsLostToItsMaximumHold() throws Exception {
    Lease brief =
        engine
            .readWriteLock("a", options -> options.maxHold(Duration.ofSeconds(1)))
            .readLock()
            .acquire();
    time.advance(Duration.ofSeconds(1));
    get(brief.onLoss());
    Waits.until("the release", () -> !store.holds("a"));
  }

  @Test
  void aReaderBehindALocalWriterWaitsForIt() throws Exception {
    Lease reader = lock.readLock().acquire();
    CompletableFuture<Lease> writer = lock.writeLock().acquireAsync();
    Waits.until("the writer to wait", () -> store.watchers() == 1);
    CompletableFuture<Lease> late = lock.readLock().acquireAsync();
    awaitWaiting(1);
    reader.close();
    Lease written = get(writer);
    assertFalse(late.isDone());
    written.close();
    get(late).close();
  }

  @Test
  void writersOfOneClientHandTheLockOn() throws Exception {
    Lease first = lock.writeLock().acquire();
    CompletableFuture<Lease> second = lock.writeLock().acquireAsync();
    awaitWaiting(1);
    assertEquals(ReleaseOutcome.HANDED_OFF, first.release());
    get(second).close();
    assertEquals(1, store.calls(FakeStore.Op.ACQUIRE));
  }

  @Test
  void aWriterDoesNotHandTheLockOnToAReader() throws Exception {
    Lease writer = lock.writeLock().acquire();
    CompletableFuture<Lease> reader = lock.readLock().acquireAsync();
    awaitWaiting(1);
    assertEquals(ReleaseOutcome.RELEASED, writer.release());
    get(reader).close();
    assertEquals(2, store.calls(FakeStore.Op.ACQUIRE));
  }

  @Test
  void aReaderWithAMinimumHoldKeepsTheGrantWithoutTheOthers() throws Exception {
    Lease kept =
        engine
            .readWriteLock("a", options -> options.minHold(Duration.ofSeconds(5)))
            .readLock()
            .acquire();
    assertEquals(ReleaseOutcome.DEFERRED, kept.release());
    assertTrue(store.holds("a"));
    assertTrue(lock.readLock().tryAcquire().map(Lease::release).isPresent());
    assertEquals(Optional.empty(), lock.writeLock().tryAcquire());
    advanceUntil("the end of the minimum hold", () -> !store.holds("a"));
  }

  @Test
  void aLostReplyToAReaderIsUndone() throws Exception {
    store.loseReply(FakeStore.Op.ACQUIRE);
    CompletableFuture<Lease> reader = lock.readLock().acquireAsync();
    advanceUntil("the reader", reader::isDone);
    Waits.until("the undo", () -> store.holders("a") == 1);
    get(reader).close();
    assertFalse(store.holds("a"));
  }

  // --- views ----------------------------------------------------------------------------------

  @Test
  @SuppressWarnings("LockNotBeforeTry") // each step is checked
  void aViewIsReentrantAndCannotChangeSides() {
    Lock reads = lock.readLock().asLock();
    Lock writes = lock.writeLock().asLock();
    reads.lock();
    lock.readLock().asLock().lock();
    assertEquals(1, store.calls(FakeStore.Op.ACQUIRE));
    assertThrows(IllegalStateException.class, writes::lock);
    assertThrows(IllegalStateException.class, writes::tryLock);
    assertThrows(IllegalMonitorStateException.class, writes::unlock);
    reads.unlock();
    assertTrue(store.holds("a"));
    reads.unlock();
    assertFalse(store.holds("a"));
    writes.lock();
    assertThrows(IllegalStateException.class, reads::lock);
    writes.unlock();
  }

  // --- permits --------------------------------------------------------------------------------

  @Test
  void permitsAreLimitedAndReleasedOneByOne() throws Exception {
    Lease two = semaphore.permits(2).acquire();
    Lease one = semaphore.acquire();
    assertEquals(Optional.empty(), semaphore.tryAcquire());
    one.close();
    one.close();
    assertEquals(Optional.empty(), semaphore.permits(2).tryAcquire());
    Lease again = semaphore.tryAcquire().orElseThrow();
    two.close();
    again.close();
    assertFalse(store.holds("a"));
  }

  @Test
  void theFirstWaiterForAPermitGetsTheNext() throws Exception {
    Lease all = semaphore.permits(3).acquire();
    CompletableFuture<Lease> first = semaphore.acquireAsync();
    CompletableFuture<Lease> second = semaphore.permits(2).acquireAsync();
    CompletableFuture<Lease> third = semaphore.acquireAsync();
    awaitWaiting(3);
    all.close();
    Lease one = get(first);
    Lease two = get(second);
    assertFalse(third.isDone());
    one.close();
    get(third).close();
    two.close();
    assertFalse(store.holds("a"));
  }

  @Test
  void aPermitIsHandedOffToTheFirstLocalWaiter() throws Exception {
    Lease others = semaphore.permits(2).acquire();
    Lease permit = semaphore.acquire();
    Background<Lease> first = inBackground(semaphore::acquire);
    time.awaitAsleep(first.thread);
    Background<Lease> second = inBackground(semaphore::acquire);
    time.awaitAsleep(second.thread);
    assertEquals(ReleaseOutcome.HANDED_OFF, permit.release());
    Lease next = first.get();
    assertEquals(permit.fencingToken() + 1, next.fencingToken());
    assertFalse(permit.isHeld());
    assertTrue(next.isHeld());
    // The second is the head now, has asked the store without success, and pauses.
    Waits.until("the second to watch", () -> store.watchers() == 1);
    time.awaitAsleep(second.thread);
    assertEquals(ReleaseOutcome.HANDED_OFF, next.release());
    Lease last = second.get();
    assertEquals(0, store.calls(FakeStore.Op.RELEASE));
    last.close();
    others.close();
    assertEquals(2, store.calls(FakeStore.Op.RELEASE));
    assertFalse(store.holds("a"));
  }

  @Test
  void aPermitIsHandedOffPastAHeadThatStillAsksTheStoreForAsMany() throws Exception {
    store.occupy("a", Share.ofSemaphore(2, 3), Duration.ofDays(1));
    Lease permit = semaphore.acquire();
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    Background<Lease> head = inBackground(semaphore::acquire);
    gate.awaitArrival();
    Background<Lease> behind = inBackground(semaphore::acquire);
    awaitWaiting(1);
    assertEquals(ReleaseOutcome.HANDED_OFF, permit.release());
    Lease next = behind.get();
    assertEquals(permit.fencingToken() + 1, next.fencingToken());
    gate.open();
    Waits.until("the head to watch", () -> store.watchers() == 1);
    time.awaitAsleep(head.thread);
    assertEquals(ReleaseOutcome.HANDED_OFF, next.release());
    assertEquals(ReleaseOutcome.RELEASED, head.get().release());
    assertEquals(1, store.holders("a"));
  }

  @Test
  void aHeadThatAsksTheStoreIsOvertakenOnlyEightTimes() throws Exception {
    store.occupy("a", Share.ofSemaphore(2, 3), Duration.ofDays(1));
    Lease permit = semaphore.acquire();
    FakeStore.Gate first = store.gate(FakeStore.Op.ACQUIRE);
    CompletableFuture<Lease> head = semaphore.acquireAsync();
    first.awaitArrival();
    FakeStore.Gate second = store.gate(FakeStore.Op.ACQUIRE);
    CompletableFuture<Lease> behind;
    try {
      permit = passOn(permit, 20);
      first.open();
      advanceUntil("the second request", second::hasArrival);
      permit = passOn(permit, 8);
      behind = semaphore.acquireAsync();
      awaitWaiting(1);
      assertEquals(ReleaseOutcome.RELEASED, permit.release());
    } finally {
      first.open(); // closing the client waits for its requests
      second.open();
    }
    get(head).close();
    get(behind).close();
  }

  /** Hands the permit to this number of waiters, one after the other. */
  private Lease passOn(Lease permit, int waiters) throws Exception {
    for (int i = 0; i < waiters; i++) {
      CompletableFuture<Lease> behind = semaphore.acquireAsync();
      awaitWaiting(1);
      assertEquals(ReleaseOutcome.HANDED_OFF, permit.release());
      permit = get(behind);
    }
    return permit;
  }

  @Test
  void aPermitIsNotHandedOffPastAHeadThatNeedsMore() throws Exception {
    store.occupy("a", Share.ofSemaphore(2, 3), Duration.ofDays(1));
    Lease permit = semaphore.acquire();
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    CompletableFuture<Lease> head = semaphore.permits(2).acquireAsync();
    gate.awaitArrival();
    CompletableFuture<Lease> behind = semaphore.acquireAsync();
    awaitWaiting(1);
    assertEquals(ReleaseOutcome.RELEASED, permit.release());
    assertFalse(behind.isDone());
    head.cancel(true);
    gate.open();
    get(behind).close();
  }

  @Test
  void aPermitThatWasOfferedToAWaiterThatIsInterruptedIsReleased() throws Exception {
    Lease all = semaphore.permits(2).acquire();
    Lease permit = semaphore.acquire();
    Background<Lease> waiter = inBackground(semaphore::acquire);
    time.awaitAsleep(waiter.thread);
    waiter.thread.interrupt();
    permit.close();
    assertThrows(ExecutionException.class, () -> waiter.result.get(30, TimeUnit.SECONDS));
    all.close();
    Waits.until("nothing to be held", () -> !store.holds("a"));
  }

  @Test
  void aPermitIsNotHandedOffToWhoNeedsMore() throws Exception {
    Lease others = semaphore.permits(2).acquire();
    Lease permit = semaphore.acquire();
    CompletableFuture<Lease> two = semaphore.permits(2).acquireAsync();
    Waits.until("it to wait", () -> store.watchers() == 1);
    assertEquals(ReleaseOutcome.RELEASED, permit.release());
    assertFalse(two.isDone());
    others.close();
    get(two).close();
  }

  @Test
  void permitsThatAreFreeAreAskedForAtTheSameTime() throws Exception {
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    Background<Lease> slow = inBackground(semaphore::acquire);
    gate.awaitArrival();
    semaphore.acquire().close();
    gate.open();
    slow.get().close();
  }

  @Test
  void aPermitThatIsAskedForAtTheSameTimeHasTheTimeOfAnyRequest() throws Exception {
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    Background<Lease> slow = inBackground(semaphore::acquire);
    gate.awaitArrival();
    List<Duration> times = new ArrayList<>();
    semaphore.acquire().close();
    times.add(store.attemptTimeout());
    for (int millis : List.of(600, 1)) {
      semaphore.tryAcquire(Duration.ofMillis(millis)).orElseThrow().close();
      times.add(store.attemptTimeout());
    }
    gate.open();
    slow.get().close();
    assertEquals(List.of(REQUEST_TIMEOUT, Duration.ofMillis(600), Duration.ofMillis(250)), times);
  }

  @Test
  void aPermitWhosePlaceFailsIsWaitedFor() throws Exception {
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    Background<Lease> slow = inBackground(semaphore::acquire);
    gate.awaitArrival();
    store.loseReply(FakeStore.Op.ACQUIRE);
    Background<Lease> unlucky = inBackground(semaphore::acquire);
    awaitWaiting(1);
    gate.open();
    slow.get().close();
    unlucky.get().close();
    advanceUntil("the undo", () -> !store.holds("a"));
  }

  @Test
  void aLossTakesOnlyItsOwnPermit() throws Exception {
    Lease kept = semaphore.acquire();
    Lease lost = semaphore.acquire();
    store.reportLoss("a", LossReason.TAKEN);
    get(lost.onLoss());
    assertTrue(kept.isHeld());
    kept.close();
  }

  // --- kinds ----------------------------------------------------------------------------------

  @Test
  void aNameIsOfOneKindInThisClient() throws Exception {
    try (Lease exclusive = engine.lock("a").acquire()) {
      assertThrows(LockConfigurationException.class, () -> semaphore.acquire());
      assertThrows(LockConfigurationException.class, () -> semaphore.tryAcquire());
      assertThrows(
          LockConfigurationException.class, () -> lock.readLock().tryAcquire(Duration.ofDays(1)));
      assertThrows(LockConfigurationException.class, () -> lock.writeLock().tryAcquire());
      CompletableFuture<Lease> async = lock.writeLock().acquireAsync();
      ExecutionException failure =
          assertThrows(ExecutionException.class, () -> async.get(30, TimeUnit.SECONDS));
      assertTrue(failure.getCause() instanceof LockConfigurationException, failure::toString);
      assertTrue(exclusive.isHeld());
    }
    semaphore.acquire().close();
  }

  @Test
  void aNameIsOfOneKindOnTheStore() throws Exception {
    store.occupy("a", Share.ofSemaphore(1, 4), TTL);
    LockConfigurationException failure =
        assertThrows(LockConfigurationException.class, () -> semaphore.acquire());
    assertEquals(
        "\"a\" is in use as a semaphore of 4 permits and cannot be acquired as a semaphore of 3"
            + " permits; all clients have to use a name in the same way, or wait until it is free",
        failure.getMessage());
    assertThrows(LockConfigurationException.class, () -> engine.lock("a").acquire());
    assertEquals(1, store.holders("a"));
  }

  @Test
  void impossiblePermitsAreRefusedAtOnce() {
    assertThrows(IllegalArgumentException.class, () -> engine.semaphore("a", 0));
    assertThrows(IllegalArgumentException.class, () -> engine.semaphore("a", -1));
    assertThrows(IllegalArgumentException.class, () -> semaphore.permits(0));
    assertThrows(IllegalArgumentException.class, () -> semaphore.permits(-1));
    IllegalArgumentException tooMany =
        assertThrows(IllegalArgumentException.class, () -> semaphore.permits(4));
    assertEquals(
        "the semaphore \"a\" has 3 permits; acquire 1 to 3 of them, not 4", tooMany.getMessage());
  }

  // --- closing --------------------------------------------------------------------------------

  @Test
  void aClientThatClosesReleasesWhatIsShared() throws Exception {
    List<Lease> leases = readersOfOneGrant(3);
    CompletableFuture<Lease> writer = lock.writeLock().acquireAsync();
    Waits.until("the writer to wait", () -> store.watchers() == 1);
    engine.close();
    for (Lease lease : leases) {
      assertEquals(LossReason.CLOSED, get(lease.onLoss()).reason());
    }
    assertThrows(ExecutionException.class, () -> writer.get(30, TimeUnit.SECONDS));
    assertEquals(1, store.calls(FakeStore.Op.RELEASE));
    assertFalse(store.holds("a"));
  }
}
