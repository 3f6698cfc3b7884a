package dev.interlock.internal;

import static java.lang.Thread.State.BLOCKED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The end of a lease during its release or handoff. */
class LossInterleavingTest {

  private static final Duration MAX_HOLD = Duration.ofSeconds(1);
  private static final LockOptions SHORT_HOLD =
      EngineFixture.RENEWED.toBuilder().maxHold(MAX_HOLD).build();

  private final ManualTime time = new ManualTime();
  private final InterceptedTime intercepted = new InterceptedTime(time);
  private final FakeStore store = new FakeStore(time);
  private final DefaultLockClient engine =
      new DefaultLockClient(store::open, EngineFixture.RENEWED, intercepted);

  @AfterEach
  void close() {
    engine.close();
  }

  private Lease acquire(LockOptions options) throws InterruptedException {
    return engine.lock("a", EngineFixture.like(options)).acquire();
  }

  @Test
  void aLeaseThatIsHandedOverAndEndsInTheMiddleOfIsHeldIsNotHeld() throws Exception {
    Lease first = acquire(SHORT_HOLD);
    CompletableFuture<Lease> second = engine.lock("a").acquireAsync();
    EngineFixture.Background<Boolean> asking =
        EngineFixture.inBackground(
            () -> {
              intercepted.whenCalledHere(
                  "isHeld",
                  () -> {
                    first.release();
                    time.pass(MAX_HOLD);
                  });
              return first.isHeld();
            });
    assertFalse(asking.get());
    assertTrue(intercepted.hasRun());
    assertTrue(EngineFixture.get(second).isHeld());
  }

  @Test
  void theTimerSurvivesALeaseThatIsHandedOffAndEndsWhileItFires() throws Exception {
    Duration maxHold = EngineFixture.TTL.dividedBy(2);
    Lease first = acquire(EngineFixture.RENEWED.toBuilder().maxHold(maxHold).build());
    CompletableFuture<Lease> second = engine.lock("a").acquireAsync();
    intercepted.when(
        "fire",
        () -> {
          first.release();
          time.pass(maxHold);
        });
    time.advance(EngineFixture.TTL.dividedBy(3).minusMillis(1));
    assertTrue(intercepted.hasRun());
    Lease lease = EngineFixture.get(second);
    store.delete("a");
    time.advance(EngineFixture.TTL.dividedBy(3));
    EngineFixture.get(lease.onLoss());
  }

  @Test
  void aSleepOfTheMachineEndsOnlyTheLeaseThatIsChecked() throws Exception {
    Lease first = acquire(SHORT_HOLD);
    CompletableFuture<Lease> second = engine.lock("a").acquireAsync();
    EngineFixture.Background<Boolean> asking =
        EngineFixture.inBackground(
            () -> {
              intercepted.whenCalledHere(
                  "isHeld",
                  () -> {
                    first.release();
                    time.sleepMachine(MAX_HOLD.plusSeconds(1));
                  });
              return first.isHeld();
            });
    assertFalse(asking.get());
    assertTrue(intercepted.hasRun());
    // 7 s of its 9 s are left, and the machine slept for 2 s.
    assertTrue(EngineFixture.get(second).isHeld());
  }

  @Test
  void aReleaseThatBeganBeforeTheEndIsARelease() throws Exception {
    Lease lease = acquire(SHORT_HOLD);
    CompletableFuture<?> lost = lease.onLoss();
    Bystander bystander = new Bystander(this::reachTheEnd);
    engine.holdings.queues.enter("a", Share.EXCLUSIVE, bystander);
    assertEquals(ReleaseOutcome.RELEASED, lease.release());
    assertTrue(bystander.asked);
    assertFalse(store.holds("a"));
    assertFalse(lost.isDone());
    assertEquals(0, engine.holdings.queues.size());
  }

  /** Runs under the monitor of the lease, until the timer waits for that monitor. */
  private void reachTheEnd() {
    time.pass(MAX_HOLD);
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (Thread.getAllStackTraces().keySet().stream()
        .noneMatch(each -> each.getName().contains("timer") && each.getState() == BLOCKED)) {
      assertTrue(System.nanoTime() - deadline < 0, "the timer does not wait");
      Thread.onSpinWait();
    }
  }

  @Test
  void aLossDuringTheReleaseIsReportedWithItsOwnReason() throws Exception {
    Lease lease = acquire(SHORT_HOLD);
    Bystander bystander = new Bystander(() -> store.reportLoss("a", LossReason.SESSION_ENDED));
    engine.holdings.queues.enter("a", Share.EXCLUSIVE, bystander);
    assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
    assertEquals(LossReason.SESSION_ENDED, EngineFixture.get(lease.onLoss()).reason());
    assertEquals(0, engine.holdings.queues.size());
  }

  /** A waiter that runs an action when a lease that is being released looks for the next holder. */
  private final class Bystander implements LocalQueue.Waiter {
    private final Runnable action;
    private boolean asked;

    Bystander(Runnable action) {
      this.action = action;
    }

    @Override
    public Request request() {
      asked = true;
      action.run();
      return Request.forAcquire(engine.engine, "a", Share.EXCLUSIVE, EngineFixture.FIXED, null);
    }

    @Override
    public long enteredAt() {
      return time.nanoTime();
    }

    @Override
    public boolean onHead() {
      engine.holdings.promoteNext("a");
      return true;
    }

    @Override
    public void onHandoff(LeaseState lease) {
      throw new AssertionError("does not fit");
    }

    @Override
    public void onAnswer(LocalQueue.Answer answer) {}

    @Override
    public void onOutage(LockUnavailableException problem) {}

    @Override
    public void onClose() {}
  }

  @Test
  void aSetThatIsReleasedWhileItHasYetToLearnOfALossSaysThatItWasLost() throws Exception {
    MultiLease lease = engine.multiLock(List.of("a", "b")).acquire();
    LeaseState member =
        Objects.requireNonNull(engine.holdings.queues.of("a").grant()).leases().get(0);
    var lossAction = LeaseState.class.getDeclaredField("lossAction");
    lossAction.setAccessible(true);
    @SuppressWarnings("unchecked")
    Consumer<LeaseLostException> telling = (Consumer<LeaseLostException>) lossAction.get(member);
    member.onLoss(
        loss -> {
          assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
          assertThrows(LeaseLostException.class, lease::ensureHeld);
          telling.accept(loss);
        });
    store.reportLoss("a", LossReason.EXPIRED);
    assertThrows(LeaseLostException.class, lease::ensureHeld);
    assertTrue(lease.onLoss().isDone());
  }

  @Test
  void aGrantIsReleasedThatARenewalHasProlongedAfterTheEndOfItsLease() throws Exception {
    Lease lease = acquire(EngineFixture.FIXED);
    time.advance(EngineFixture.TTL.minusMillis(100));
    intercepted.when("finishRenewal", () -> time.pass(Duration.ofMillis(200)));
    assertThrows(LeaseLostException.class, lease::renew);
    assertTrue(intercepted.hasRun());
    long lostAt = time.nanoTime();
    EngineFixture.advanceUntil(time, "the lock to be free", () -> !store.holds("a"));
    Duration after = Duration.ofNanos(time.nanoTime() - lostAt);
    assertTrue(after.compareTo(EngineFixture.REQUEST_TIMEOUT) < 0, "free after " + after);
  }
}
