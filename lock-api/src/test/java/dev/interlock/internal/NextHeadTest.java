package dev.interlock.internal;

import static dev.interlock.internal.EngineFixture.FIXED;
import static dev.interlock.internal.EngineFixture.RENEWED;
import static dev.interlock.internal.EngineFixture.TTL;
import static dev.interlock.internal.EngineFixture.get;
import static dev.interlock.internal.EngineFixture.inBackground;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LossReason;
import dev.interlock.internal.EngineFixture.Background;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The next head on a store without a queue, while the lease of the head before it still begins. */
class NextHeadTest {

  private final ManualTime time = new ManualTime();
  private final InterceptedTime intercepted = new InterceptedTime(time);
  private final FakeStore store = new FakeStore(time);
  private final DefaultLockClient engine = new DefaultLockClient(store::open, RENEWED, intercepted);

  @AfterEach
  void close() {
    Background<Boolean> closing =
        inBackground(
            () -> {
              engine.close();
              return true;
            });
    Waits.until(
        "the client to be closed",
        () -> {
          time.pass(Duration.ofMillis(10));
          return closing.result.isDone();
        });
  }

  /** Stops a call before it arrives, and acts before its reply. */
  private static final class Stop implements FakeStore.CallHook {
    final FakeStore.Gate gate = new FakeStore.Gate();
    private final Runnable beforeReply;

    Stop(Runnable beforeReply) {
      this.beforeReply = beforeReply;
    }

    @Override
    public void before() throws InterruptedException {
      gate.before();
    }

    @Override
    public void after() {
      beforeReply.run();
    }
  }

  private Background<Boolean> acquiresAndReleases(Runnable first) {
    return inBackground(
        () -> {
          first.run();
          engine.lock("a").acquire().close();
          return true;
        });
  }

  /**
   * The first head's lease is lost while the head begins it: the second waiter is the head and
   * contends when the first continues.
   */
  private Background<Lease> secondHeadWhileTheFirstBegins(boolean inQueue, Runnable beforeReply)
      throws Exception {
    FakeStore.Gate first = store.gate(FakeStore.Op.ACQUIRE);
    Stop stop = new Stop(beforeReply);
    CompletableFuture<Background<Lease>> second = new CompletableFuture<>();
    Runnable startSecond = () -> second.complete(inBackground(() -> engine.lock("a").acquire()));
    Background<Boolean> one =
        acquiresAndReleases(
            () ->
                intercepted.whenCalledHere(
                    "watchSleep",
                    () -> {
                      store.onNextCall(FakeStore.Op.ACQUIRE, stop);
                      store.reportLoss("a", LossReason.TAKEN);
                      if (!inQueue) {
                        startSecond.run();
                      }
                      try {
                        stop.gate.awaitArrival();
                      } catch (InterruptedException e) {
                        throw new AssertionError(e);
                      }
                    }));
    first.awaitArrival();
    if (inQueue) {
      startSecond.run();
      time.awaitAsleep(get(second).thread);
    }
    first.open();
    stop.gate.awaitArrival();
    // It has continued, and waits in the queue again.
    time.awaitAsleep(one.thread);
    assertTrue(intercepted.hasRun());
    stop.gate.open();
    return get(second);
  }

  private void assertAnEarlyLossIsNotForgotten(boolean inQueue) throws Exception {
    Background<Lease> second =
        secondHeadWhileTheFirstBegins(
            inQueue, () -> store.reportLoss("a", LossReason.SESSION_ENDED));
    Lease lease = second.get();
    assertTrue(store.holds("a"), "the lease that was lost before its grant arrived is held");
    assertTrue(lease.isHeld());
    lease.close();
  }

  @Test
  void anEarlyLossOfTheNextHeadIsNotForgotten() throws Exception {
    assertAnEarlyLossIsNotForgotten(true);
  }

  @Test
  void anEarlyLossOfAHeadThatCameLaterIsNotForgotten() throws Exception {
    assertAnEarlyLossIsNotForgotten(false);
  }

  @Test
  void aLostReplyToTheNextHeadIsUndone() throws Exception {
    Background<Lease> second =
        secondHeadWhileTheFirstBegins(
            true,
            () -> {
              throw FakeStore.noAnswer();
            });
    Waits.until("the undoing", () -> store.calls(FakeStore.Op.RELEASE) > 0);
    Waits.until(
        "the end",
        () -> {
          time.pass(Duration.ofMillis(10));
          return second.result.isDone();
        });
    second.get().close();
  }

  @Test
  void aCloseDuringAHandoffReachesTheNewHolder() throws Exception {
    Lease first = engine.lock("a").acquire();
    Background<Lease> second = inBackground(() -> engine.lock("a").acquire());
    time.awaitAsleep(second.thread);
    CompletableFuture<Background<Boolean>> closing = new CompletableFuture<>();
    Background<Object> releasing =
        inBackground(
            () -> {
              intercepted.whenCalledHere(
                  "newLease",
                  () -> {
                    Background<Boolean> closer =
                        inBackground(
                            () -> {
                              engine.close();
                              return true;
                            });
                    closing.complete(closer);
                    Waits.until(
                        "the closing thread to come to the lease",
                        () -> closer.thread.getState() == Thread.State.BLOCKED);
                  });
              return first.release();
            });
    releasing.get();
    assertTrue(intercepted.hasRun());
    Background<Boolean> closer = get(closing);
    long before = time.nanoTime();
    Waits.until(
        "the client to be closed",
        () -> {
          time.pass(Duration.ofMillis(10));
          return closer.result.isDone();
        });
    Duration took = Duration.ofNanos(time.nanoTime() - before);
    Lease lease = second.result.handle((had, failure) -> had).get(30, TimeUnit.SECONDS);
    if (lease != null) {
      assertFalse(lease.isHeld(), "held after its client was closed, which took " + took);
      assertEquals(LossReason.CLOSED, get(lease.onLoss()).reason());
    }
    assertFalse(store.holds("a"), "still on the server; closing took " + took);
  }

  @Test
  void aLeaseThatASleepEndsBeforeItIsReturnedCountsAsNotGranted() throws Exception {
    intercepted.whenCalledHere("watchSleep", () -> time.sleepMachine(TTL.plusSeconds(1)));
    Lease lease = engine.lock("a", EngineFixture.like(FIXED)).acquire();
    assertTrue(intercepted.hasRun());
    assertTrue(lease.isHeld());
  }
}
