package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Share;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** Closing a client during other operations. */
class CloseInterleavingTest extends EngineFixture {

  /** A store that is so slow to release that the client has no time left to close. */
  private final FakeStore.CallHook tooSlow =
      new FakeStore.CallHook() {
        @Override
        public void before() {
          time.pass(REQUEST_TIMEOUT.multipliedBy(2));
          throw FakeStore.noAnswer();
        }
      };

  @Test
  void aLeaseForWhoseReleaseNoTimeIsLeftEndsAllTheSame() throws Exception {
    Lease first = acquire(RENEWED);
    Lease second = engine.lock("b").acquire();
    store.onNextCall(FakeStore.Op.RELEASE, tooSlow);
    engine.close();
    assertFalse(first.isHeld());
    assertFalse(second.isHeld());
    assertEquals(ReleaseOutcome.ALREADY_LOST, first.release());
    assertEquals(ReleaseOutcome.ALREADY_LOST, second.release());
    // Operations in the background still have to end when the time is over.
    Waits.until("nothing to be left", () -> engine.residue() == 0);
  }

  @Test
  void aTimerThatIsClosedTakesEventsOut() {
    Timer timer = new Timer(Platform.on(time), "fake-timer", () -> {});
    Timer.Event event =
        new Timer.Event() {
          @Override
          void fire(long now) {}
        };
    timer.schedule(event, time.nanoTime() + 1);
    timer.close();
    assertDoesNotThrow(() -> timer.cancel(event));
  }

  @Test
  void aReleaseThatHandsOffDuringTheCloseEndsOnTheStore() throws Exception {
    Lease lease = acquire(RENEWED);
    Waiting waiter = new Waiting();
    engine.holdings.queues.enter("a", Share.EXCLUSIVE, waiter);
    assertEquals(ReleaseOutcome.RELEASED, lease.release());
    waiter.closing.get();
    assertFalse(store.holds("a"));
    assertTrue(waiter.closed || !waiter.lease.isHeld());
    Waits.until("nothing to be left", () -> engine.residue() == 0);
  }

  @Test
  void anAttemptThatIsGrantedMeanwhileIsReleasedBeforeTheConnectionEnds() throws Exception {
    FakeStore.Gate gate = store.gate(FakeStore.Op.ACQUIRE);
    Background<Optional<Lease>> attempt = inBackground(() -> engine.lock("a").tryAcquire());
    gate.awaitArrival();
    Background<Boolean> closing =
        inBackground(
            () -> {
              engine.close();
              return store.holds("a");
            });
    Waits.until("the client to be closing", engine.engine::isClosed);
    gate.open();
    assertInstanceOf(
        IllegalStateException.class,
        assertThrows(ExecutionException.class, () -> attempt.result.get()).getCause());
    assertFalse(closing.get());
    Waits.until("nothing to be left", () -> engine.residue() == 0);
  }

  @Test
  void aContestThatIsAboutToWaitEndsWithTheClient() throws Exception {
    store.occupy("a", TTL);
    store.watchesFail(true); // the signal of a watch would end the wait
    InterceptedTime intercepted = new InterceptedTime(time);
    DefaultLockClient client = new DefaultLockClient(store::open, RENEWED, intercepted);
    Background<Lease> loop =
        inBackground(
            () -> {
              intercepted.whenCalledHere(
                  "hasPassed", () -> closeUpToItsWaitForAcquireLoops(client));
              return client.lock("a").acquire();
            });
    assertInstanceOf(
        IllegalStateException.class, assertThrows(ExecutionException.class, loop::get).getCause());
    assertTrue(intercepted.hasRun());
    Waits.until("nothing to be left", () -> client.residue() == 0);
  }

  /** Returns when the close has told all acquire loops to stop. */
  private void closeUpToItsWaitForAcquireLoops(DefaultLockClient client) {
    Thread closing = new Thread(client::close, "closing");
    closing.setDaemon(true);
    closing.start();
    Waits.until("the client to wait for its acquire loops", () -> time.isAsleep(closing));
  }

  @Test
  void anInterruptedThreadClosesAsAnyOther() throws Exception {
    Lease lease = acquire(RENEWED);
    store.down(true);
    assertEquals(ReleaseOutcome.UNKNOWN, lease.release());
    Waits.until("the first try in the background", () -> engine.engine.timer.size() == 2);
    store.down(false);
    store.onNextCall(
        FakeStore.Op.RELEASE,
        () -> {
          if (Thread.interrupted()) {
            throw new InterruptedException();
          }
        });
    Thread.currentThread().interrupt();
    engine.close();
    assertTrue(Thread.interrupted());
    assertFalse(store.holds("a"));
    Waits.until("nothing to be left", () -> engine.residue() == 0);
  }

  /** The work of a leader may close the client, and be interrupted by its own loss. */
  @Test
  void anInterruptWhileALeaseIsReleasedCostsNothingElse() throws Exception {
    Lease lease = acquire(RENEWED);
    Thread closing = Thread.currentThread();
    CountDownLatch over = new CountDownLatch(1);
    store.onNextCall(
        FakeStore.Op.RELEASE,
        new FakeStore.CallHook() {
          private boolean interrupted;

          @Override
          public void before() throws InterruptedException {
            store.onNextCall(FakeStore.Op.RELEASE, this);
            if (Thread.currentThread() != closing) {
              over.await();
            } else if (!interrupted || Thread.interrupted()) {
              interrupted = true;
              throw new InterruptedException();
            }
          }
        });
    engine.close();
    over.countDown();
    assertTrue(Thread.interrupted());
    assertFalse(lease.isHeld());
    assertFalse(store.holds("a"));
    Waits.until("nothing to be left", () -> engine.residue() == 0);
  }

  @Test
  void closingInTheMiddleOfAcquisitionsLeavesNothing() throws Exception {
    for (int i = 0; i < 200; i++) {
      DefaultLockClient client = anotherClient();
      Background<Object> acquiring =
          inBackground(
              () -> {
                while (true) {
                  client.lock("a").acquire().close();
                }
              });
      Background<Object> trying =
          inBackground(
              () -> {
                while (true) {
                  client.lock("a").tryAcquire().ifPresent(Lease::close);
                }
              });
      Background<Object> async =
          inBackground(
              () -> {
                while (true) {
                  client.lock("a").acquireAsync().get().close();
                }
              });
      Waits.until("some work", () -> store.calls(FakeStore.Op.ACQUIRE) > 3);
      client.close();
      for (Background<Object> worker : List.of(acquiring, trying, async)) {
        Throwable failure = assertThrows(ExecutionException.class, () -> worker.get()).getCause();
        if (failure instanceof ExecutionException) {
          failure = failure.getCause();
        }
        assertInstanceOf(IllegalStateException.class, failure);
      }
      assertFalse(store.holds("a"));
      Waits.until("the queue to end", () -> client.residue() == 0);
    }
  }

  /** A waiter that lets the client be closed while a lease is handed off to it. */
  private final class Waiting implements LocalQueue.Waiter {
    private Background<Boolean> closing;
    private LeaseState lease;
    private boolean closed;

    @Override
    public Request request() {
      closing =
          inBackground(
              () -> {
                engine.close();
                return true;
              });
      Waits.until("the client to be closing", engine.engine::isClosed);
      return Request.forAcquire(engine.engine, "a", Share.EXCLUSIVE, RENEWED, null);
    }

    @Override
    public long enteredAt() {
      return time.nanoTime();
    }

    @Override
    public boolean onHead() {
      // A head that finds its client closed promotes the next waiter.
      closed = true;
      engine.holdings.promoteNext("a");
      return true;
    }

    @Override
    public void onHandoff(LeaseState granted) {
      lease = granted;
    }

    @Override
    public void onAnswer(LocalQueue.Answer answer) {}

    @Override
    public void onOutage(LockUnavailableException problem) {}

    @Override
    public void onClose() {
      closed = true;
    }
  }
}
