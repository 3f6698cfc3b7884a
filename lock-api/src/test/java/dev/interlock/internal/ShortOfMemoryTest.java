package dev.interlock.internal;

import static dev.interlock.internal.EngineFixture.RENEWED;
import static dev.interlock.internal.EngineFixture.TTL;
import static dev.interlock.internal.EngineFixture.get;
import static dev.interlock.internal.EngineFixture.inBackground;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LeaderElection.Candidacy;
import dev.interlock.LeaderElection.Leader;
import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.Registration;
import dev.interlock.ReleaseOutcome;
import dev.interlock.internal.EngineFixture.Background;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Errors at places where memory may run out: at most the current operation fails, and no other
 * thread and no later operation does. JUnit does not survive an OutOfMemoryError, so the tests
 * throw another error.
 */
class ShortOfMemoryTest {

  private final ManualTime time = new ManualTime();
  private final InterceptedTime intercepted = new InterceptedTime(time);
  private final FakeStore store = new FakeStore(time);
  private final DefaultLockClient engine = new DefaultLockClient(store::open, RENEWED, intercepted);

  @AfterEach
  void close() {
    engine.close();
  }

  private static void fail() {
    throw new InternalError("as if out of memory");
  }

  private Background<Lease> waiter() throws Exception {
    Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    time.awaitAsleep(waiter.thread);
    return waiter;
  }

  /** Calls that wait for a thread; adding one fails once. */
  private static final class FailingQueue extends ConcurrentLinkedQueue<Runnable> {
    private static final long serialVersionUID = 1;

    private final transient Thread thread = Thread.currentThread();
    private boolean failed;

    @Override
    public boolean add(Runnable call) {
      if (!failed && Thread.currentThread() == thread) {
        failed = true;
        fail();
      }
      return super.add(call);
    }
  }

  private FailingQueue failsToEnqueue() throws ReflectiveOperationException {
    FailingQueue failing = new FailingQueue();
    var callbacks = Notifier.class.getDeclaredField("callbacks");
    callbacks.setAccessible(true);
    Object starter = callbacks.get(engine.engine.notifier);
    var due = starter.getClass().getDeclaredField("due");
    due.setAccessible(true);
    due.set(starter, failing);
    return failing;
  }

  @Test
  void aLeaseWhoseStartFailsIsReturned() throws Exception {
    intercepted.whenCalledHere("watchSleep", ShortOfMemoryTest::fail);
    Lease lease = engine.lock("a").acquire();
    assertTrue(intercepted.hasRun());
    time.advance(TTL.dividedBy(3));
    Waits.until("it to be renewed", () -> store.calls(FakeStore.Op.RENEW) == 1);
    lease.close();
    assertFalse(store.holds("a"));
    engine.lock("a").acquire().close();
  }

  @Test
  void aWaitThatFailsAtItsBeginningLeavesTheQueue() throws Exception {
    Lease first = engine.lock("a").acquire();
    intercepted.whenCalledHere(
        "awaitInQueue", () -> intercepted.whenCalledHere("isOver", ShortOfMemoryTest::fail));
    assertThrows(InternalError.class, () -> engine.lock("a").acquire());
    assertEquals(ReleaseOutcome.RELEASED, first.release());
    engine.lock("a").acquire().close();
  }

  @Test
  void aReleaseThatFailsOnItsWayEndsTheLease() throws Exception {
    Lease first = engine.lock("a", options -> options.minHold(Duration.ofSeconds(5))).acquire();
    Background<Lease> second = waiter();
    intercepted.whenCalledHere("minHoldToDefer", ShortOfMemoryTest::fail);
    assertThrows(InternalError.class, first::release);
    EngineFixture.advanceUntil(time, "the next to be served", second.result::isDone);
    second.get().close();
    assertEquals(ReleaseOutcome.UNKNOWN, first.release());
  }

  @Test
  void aHandoffThatFailsLetsTheNextAskTheStore() throws Exception {
    Lease first = engine.lock("a").acquire();
    Background<Lease> second = waiter();
    intercepted.whenCalledHere("newLease", ShortOfMemoryTest::fail);
    assertEquals(ReleaseOutcome.RELEASED, first.release());
    assertTrue(intercepted.hasRun());
    second.get().close();
    assertEquals(2, store.calls(FakeStore.Op.ACQUIRE));
    assertEquals(ReleaseOutcome.RELEASED, first.release());
  }

  @Test
  void aSetLearnsOfALossThatCannotBeUndone() throws Exception {
    MultiLease lease = engine.multiLock(List.of("a", "b")).acquire();
    CompletableFuture<?> lost = lease.onLoss();
    intercepted.when("undoOnStore", ShortOfMemoryTest::fail);
    store.reportLoss("a", LossReason.EXPIRED);
    assertTrue(intercepted.hasRun());
    get(lost);
    EngineFixture.advanceUntil(time, "the other to be free", () -> !store.holds("b"));
  }

  @Test
  void aMemberOfASetThatCannotBeReleasedIsNotKeptForever() throws Exception {
    store.occupy("b", Duration.ofDays(1));
    intercepted.whenCalledHere("releaseAll", ShortOfMemoryTest::fail);
    assertTrue(engine.multiLock(List.of("a", "b")).tryAcquire().isEmpty());
    assertTrue(intercepted.hasRun());
    EngineFixture.advanceUntil(time, "the lock to be free", () -> !store.holds("a"));
  }

  @Test
  void anUnusedLeaseThatCannotBeReleasedIsNotKeptForever() throws Exception {
    Request request = Request.forAcquire(engine.engine, "a", Share.EXCLUSIVE, RENEWED, null);
    intercepted.whenCalledHere("beginRelease", ShortOfMemoryTest::fail);
    assertThrows(
        InternalError.class,
        () ->
            BlockingAcquisition.acquire(
                engine.acquirer,
                request,
                lease -> {
                  throw new InternalError("of the handle");
                }));
    assertTrue(intercepted.hasRun());
    EngineFixture.advanceUntil(time, "the lock to be free", () -> !store.holds("a"));
  }

  @Test
  void aLeaseThatIsHandedOverToAnAbandonedWaitIsNotKeptForever() throws Exception {
    Lease first = engine.lock("a").acquire();
    Background<Lease> second = waiter();
    intercepted.whenCalledHere(
        "handOff",
        () -> {
          // Under the queue's monitor: the waiter has abandoned its wait, and waits to leave.
          second.thread.interrupt();
          Waits.until("it to leave", () -> second.thread.getState() == Thread.State.BLOCKED);
          intercepted.whenCalledHere("newFinish", ShortOfMemoryTest::fail);
        });
    assertEquals(ReleaseOutcome.HANDED_OFF, first.release());
    assertTrue(intercepted.hasRun());
    assertThrows(ExecutionException.class, second::get);
    EngineFixture.advanceUntil(time, "the lock to be free", () -> !store.holds("a"));
    EngineFixture.advanceUntil(time, "nothing to be left", () -> engine.residue() == 0);
  }

  @Test
  void aTimedEventThatFailsIsTriedAgain() throws Exception {
    try (Lease lease = engine.lock("a").acquire()) {
      time.advance(Duration.ofMillis(1_500));
      intercepted.when("endOverdue", ShortOfMemoryTest::fail);
      EngineFixture.advanceUntil(time, "an event that fails", intercepted::hasRun);
      EngineFixture.advanceUntil(time, "it", () -> store.calls(FakeStore.Op.RENEW) > 0);
      assertTrue(lease.isHeld());
    }
  }

  @Test
  void aLossThatCannotBeQueuedPassesTheLockOn() throws Exception {
    Lease first = engine.lock("a").acquire();
    Background<Lease> second = waiter();
    FailingQueue failing = failsToEnqueue();
    store.reportLoss("a", LossReason.TAKEN);
    assertTrue(failing.failed);
    assertFalse(first.isHeld());
    second.get().close();
  }

  @Test
  void aLossWhoseSignalCannotBeQueuedPassesTheLockOn() throws Exception {
    Lease first = engine.lock("a").acquire();
    CompletableFuture<?> signal = first.onLoss();
    Background<Lease> second = waiter();
    FailingQueue failing = failsToEnqueue();
    store.reportLoss("a", LossReason.TAKEN);
    assertTrue(failing.failed);
    assertFalse(signal.isDone());
    assertFalse(first.isHeld());
    second.get().close();
  }

  @Test
  void aListenerMissesACallThatCannotBeQueuedAndGetsTheNext() throws Exception {
    BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
    engine.onEvent(events::add);
    FailingQueue failing = failsToEnqueue();
    engine.lock("a").acquire().close();
    assertTrue(failing.failed);
    EngineFixture.next(events, LockEvent.Released.class);
  }

  @Test
  void anUndoingThatFailsIsRepeated() throws Exception {
    Lease lease = engine.lock("a").acquire();
    store.down(true);
    CompletableFuture<Boolean> met = new CompletableFuture<>();
    intercepted.when(
        "attempt",
        () -> {
          met.complete(true);
          fail();
        });
    assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
    assertTrue(get(met));
    store.down(false);
    EngineFixture.advanceUntil(time, "the undoing", () -> !store.holds("a"));
    assertEquals(2, store.calls(FakeStore.Op.RELEASE));
  }

  @Test
  void aReleaseThatCannotBeginLeavesTheLeaseHeld() throws Exception {
    Lease lease = engine.lock("a").acquire();
    intercepted.whenCalledHere("requestDeadline", ShortOfMemoryTest::fail);
    assertThrows(InternalError.class, lease::releaseAsync);
    assertTrue(lease.isHeld());
    assertEquals(ReleaseOutcome.RELEASED, lease.release());
    MultiLease set = engine.multiLock(List.of("b", "c")).acquire();
    intercepted.whenCalledHere("requestDeadline", ShortOfMemoryTest::fail);
    assertThrows(InternalError.class, set::releaseAsync);
    intercepted.whenCalledHere("requestDeadline", ShortOfMemoryTest::fail);
    assertThrows(InternalError.class, set::release);
    assertTrue(set.isHeld());
    assertEquals(ReleaseOutcome.RELEASED, set.release());
  }

  /**
   * If the leader did not resign, its lease would be renewed forever, and nobody else could lead.
   */
  @Test
  void aLeaderWhoseReleaseFailsResignsNevertheless() throws Exception {
    CompletableFuture<Boolean> over = new CompletableFuture<>();
    BlockingQueue<Lease> begun = new LinkedBlockingQueue<>();
    try (Candidacy candidacy =
        engine
            .election("a")
            .start(
                leadership -> {
                  boolean isSecond = over.isDone();
                  begun.add(leadership);
                  if (isSecond) {
                    new CountDownLatch(1).await();
                  }
                  over.get();
                  intercepted.whenCalledHere(
                      "release",
                      () -> {
                        intercepted.whenCalledHere("pause", ShortOfMemoryTest::fail);
                        fail();
                      });
                })) {
      Waits.until("the work", () -> !begun.isEmpty());
      Lease first = begun.remove();
      over.complete(true);
      EngineFixture.advanceUntil(time, "the next leadership", () -> !begun.isEmpty());
      assertTrue(begun.remove().fencingToken() > first.fencingToken());
      assertTrue(candidacy.failure().isEmpty());
    }
    assertFalse(store.holds("a"));
  }

  @Test
  void anAnswerThatCannotBeReportedIsReportedAfterTheNext() throws Exception {
    BlockingQueue<Optional<Leader>> calls = new LinkedBlockingQueue<>();
    Registration registration = engine.election("a").observe(calls::add);
    try (registration) {
      EngineFixture.advanceUntil(time, "the first call", () -> !calls.isEmpty());
      calls.clear();
      Lease leadership = engine.lock("a").acquire();
      AtomicBoolean failed = new AtomicBoolean();
      intercepted.when(
          "onRequestEnd",
          () -> {
            failed.set(true);
            fail();
          });
      EngineFixture.advanceUntil(time, "the failure", failed::get);
      EngineFixture.advanceUntil(time, "the call", () -> !calls.isEmpty());
      leadership.close();
      calls.clear();
      EngineFixture.advanceUntil(time, "another", () -> !calls.isEmpty());
    }
  }
}
