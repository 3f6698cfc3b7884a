package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.DistributedReadWriteLock;
import dev.interlock.DistributedSemaphore;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.internal.EngineFixture.Background;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The leases of a shared grant, while the engine is interrupted between two statements. */
class SharedGrantInterleavingTest {

  private final ManualTime time = new ManualTime();
  private final InterceptedTime intercepted = new InterceptedTime(time);
  private final FakeStore store = new FakeStore(time);
  private final DefaultLockClient engine =
      new DefaultLockClient(store::open, EngineFixture.RENEWED, intercepted);
  private final DistributedReadWriteLock lock = engine.readWriteLock("a");
  private final DistributedSemaphore semaphore = engine.semaphore("a", 3);

  @AfterEach
  void close() {
    store.down(false);
    // By a clock that advances, in case that something remains.
    Background<Boolean> closing = closeInBackground();
    EngineFixture.advanceUntil(time, "the client to be closed", closing.result::isDone);
    assertEquals(0, engine.residue());
  }

  private Background<Boolean> closeInBackground() {
    return EngineFixture.inBackground(
        () -> {
          engine.close();
          return true;
        });
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
    Waits.until("the others to wait", () -> engine.holdings.queues.waiterCount() == count - 1);
    gate.open();
    List<Lease> leases = new ArrayList<>();
    for (CompletableFuture<Lease> reader : readers) {
      leases.add(EngineFixture.get(reader));
    }
    return leases;
  }

  /** The stack is checked because a thread may be blocked elsewhere for a moment, too. */
  private static void awaitBlockedIn(String method, Thread thread) {
    Waits.until(
        "the thread to block in " + method,
        () -> {
          StackTraceElement[] stack = thread.getStackTrace();
          return thread.getState() == Thread.State.BLOCKED
              && stack.length > 0
              && stack[0].getMethodName().equals(method);
        });
  }

  private static void fail() {
    throw new InternalError("as if out of memory");
  }

  /** Starts a waiter for a permit, while others have all permits. */
  private Background<Lease> waiterForAPermit() {
    Background<Lease> waiter = EngineFixture.inBackground(semaphore::acquire);
    Waits.until("the waiter to watch", () -> store.watchers() == 1);
    time.awaitAsleep(waiter.thread);
    return waiter;
  }

  /** A waiter without a thread. */
  private final class Bystander implements LocalQueue.Waiter {
    private final Request request;
    private final long enteredAt = time.nanoTime();
    private final CompletableFuture<LeaseState> handedOff = new CompletableFuture<>();

    Bystander(Share share) {
      this.request = Request.forAcquire(engine.engine, "a", share, EngineFixture.RENEWED, null);
    }

    @Override
    public Request request() {
      return request;
    }

    @Override
    public long enteredAt() {
      return enteredAt;
    }

    @Override
    public boolean onHead() {
      engine.holdings.promoteNext("a");
      fail();
      return true;
    }

    @Override
    public void onHandoff(LeaseState lease) {
      handedOff.complete(lease);
    }

    @Override
    public void onAnswer(LocalQueue.Answer answer) {}

    @Override
    public void onOutage(LockUnavailableException problem) {}

    @Override
    public void onClose() {}
  }

  /** The process may be stopped between the handoff and the next step of its threads. */
  @Test
  void aPermitThatExpiresBeforeItsCallerContinuesIsNotReturned() throws Exception {
    engine.onEvent(event -> {});
    store.occupy("a", Share.ofSemaphore(2, 3), Duration.ofDays(1));
    Lease first = semaphore.acquire();
    Background<Lease> waiter = waiterForAPermit();
    intercepted.when(
        "markReleased",
        () -> {
          intercepted.when("fire", () -> Waits.until("the waiter", waiter.result::isDone));
          time.pass(EngineFixture.TTL.plusSeconds(1));
        });
    assertEquals(ReleaseOutcome.HANDED_OFF, first.release());
    assertTrue(waiter.get().isHeld());
    waiter.get().close();
  }

  private boolean reportLoss() {
    store.reportLoss("a", LossReason.SESSION_ENDED);
    return true;
  }

  @Test
  void aReaderThatIsBeingAdmittedLearnsOfTheLossOfItsGrant() throws Exception {
    engine.onEvent(event -> {});
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    Background<Lease> first = EngineFixture.inBackground(lock.readLock()::acquire);
    gate.awaitArrival();
    Bystander second = new Bystander(Share.READ);
    assertFalse(engine.holdings.queues.enter("a", Share.READ, second));
    Background<Boolean> telling;
    synchronized (second.request.acquisition()) {
      gate.open();
      awaitBlockedIn("reportAcquired", first.thread);
      telling = EngineFixture.inBackground(this::reportLoss);
      awaitBlockedIn("endLost", telling.thread);
    }
    assertTrue(telling.get());
    LeaseState admitted = EngineFixture.get(second.handedOff);
    first.get().close();
    assertEquals(
        LossReason.SESSION_ENDED, EngineFixture.get(admitted.observers().onLoss()).reason());
    assertFalse(admitted.isHeld());
  }

  @Test
  void theAnswerToOneReaderOfAGrantReachesAll() throws Exception {
    List<Lease> leases = readersOfOneGrant(3);
    store.delete("a");
    assertThrows(LeaseLostException.class, leases.get(1)::renew);
    for (Lease lease : leases) {
      assertEquals(LossReason.TAKEN, EngineFixture.get(lease.onLoss()).reason());
    }
  }

  @Test
  void theAnswerToAReaderThatLeavesReachesTheOthers() throws Exception {
    List<Lease> leases = readersOfOneGrant(2);
    FakeStore.Gate gate = store.gate(FakeStore.Op.RENEW);
    var unused = leases.get(0).renewAsync();
    gate.awaitArrival();
    assertEquals(ReleaseOutcome.HANDED_OFF, leases.get(0).release());
    store.delete("a");
    gate.open();
    assertEquals(LossReason.TAKEN, EngineFixture.get(leases.get(1).onLoss()).reason());
  }

  private void failRenewals() {
    store.onNextCall(
        FakeStore.Op.RENEW,
        () -> {
          failRenewals();
          throw FakeStore.noAnswer();
        });
  }

  @Test
  void aGrantWhoseLastReaderExpiresIsReleasedIfAnotherHasRenewedItLater() throws Exception {
    List<Lease> leases = readersOfOneGrant(2);
    CompletableFuture<LeaseLostException> lost = leases.get(1).onLoss();
    time.advance(EngineFixture.TTL.dividedBy(4));
    leases.get(0).renew();
    assertEquals(ReleaseOutcome.HANDED_OFF, leases.get(0).release());
    failRenewals();
    EngineFixture.advanceUntil(time, "the end", lost::isDone);
    assertEquals(LossReason.EXPIRED, lost.join().reason());
    Waits.until("the release", () -> !store.holds("a"));
  }

  /** Closes the client, as far as possible, before an undo begins. */
  private CompletableFuture<Background<Boolean>> closesBeforeAnUndo() {
    CompletableFuture<Background<Boolean>> closing = new CompletableFuture<>();
    intercepted.when(
        "expiryDeadline",
        () -> {
          Background<Boolean> close = closeInBackground();
          Waits.until(
              "the client to be closed",
              () -> close.result.isDone() || time.isAsleep(close.thread));
          closing.complete(close);
        });
    return closing;
  }

  @Test
  void anAttemptBesideOthersIsUndoneBeforeTheConnectionEnds() throws Exception {
    store.loseReply(FakeStore.Op.ACQUIRE);
    CompletableFuture<Background<Boolean>> closing = closesBeforeAnUndo();
    assertThrows(IllegalStateException.class, semaphore::tryAcquire);
    assertTrue(EngineFixture.get(closing).get());
    assertFalse(store.holds("a"));
  }

  @Test
  void aLostGrantIsReleasedBeforeTheConnectionEnds() throws Exception {
    Duration maxHold = Duration.ofSeconds(1);
    Lease lease = engine.semaphore("a", 3, options -> options.maxHold(maxHold)).acquire();
    CompletableFuture<Background<Boolean>> closing = closesBeforeAnUndo();
    time.pass(maxHold);
    assertFalse(lease.isHeld());
    assertTrue(EngineFixture.get(closing).get());
    assertFalse(store.holds("a"));
  }

  @Test
  void aHandoffOfAPermitThatFailsLetsTheNextAskTheStore() throws Exception {
    store.occupy("a", Share.ofSemaphore(2, 3), Duration.ofDays(1));
    Lease first = semaphore.acquire();
    Background<Lease> second = waiterForAPermit();
    intercepted.whenCalledHere("mayHandOff", SharedGrantInterleavingTest::fail);
    assertEquals(ReleaseOutcome.RELEASED, first.release());
    assertTrue(intercepted.hasRun());
    second.get().close();
  }

  @Test
  void aPermitIsNotHandedOffPastAHeadThatHasComeMeanwhile() throws Exception {
    store.occupy("a", Share.ofSemaphore(1, 3), Duration.ofDays(1));
    Lease first = semaphore.acquire();
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    Background<Lease> head = EngineFixture.inBackground(semaphore::acquire);
    gate.awaitArrival();
    List<Background<Lease>> later = new ArrayList<>();
    intercepted.whenCalledHere(
        "passPermits",
        () -> {
          gate.open();
          Waits.until("the head to be served", head.result::isDone);
          later.add(EngineFixture.inBackground(semaphore.permits(2)::acquire));
          Waits.until("the next head to watch", () -> store.watchers() == 1);
          later.add(EngineFixture.inBackground(semaphore::acquire));
          Waits.until("another to wait behind it", () -> engine.holdings.queues.waiterCount() == 1);
        });
    assertEquals(ReleaseOutcome.RELEASED, first.release());
    assertTrue(intercepted.hasRun());
    head.get().close();
    for (Background<Lease> each : later) {
      each.get().close();
    }
  }

  @Test
  void aReaderWhoseSuccessorFailsIsReturned() throws Exception {
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    Background<Lease> reader = EngineFixture.inBackground(lock.readLock()::acquire);
    gate.awaitArrival();
    assertFalse(engine.holdings.queues.enter("a", Share.WRITE, new Bystander(Share.WRITE)));
    gate.open();
    reader.get().close();
    assertFalse(store.holds("a"));
  }

  @Test
  void aPermitThatCannotBeKeptForItsMinimumHoldIsReleased() throws Exception {
    Lease lease =
        engine.semaphore("a", 3, options -> options.minHold(Duration.ofSeconds(5))).acquire();
    intercepted.whenCalledHere("keep", SharedGrantInterleavingTest::fail);
    assertEquals(ReleaseOutcome.RELEASED, lease.release());
    assertTrue(intercepted.hasRun());
    assertFalse(store.holds("a"));
  }
}
