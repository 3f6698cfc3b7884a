package dev.interlock.internal;

import static dev.interlock.internal.EngineFixture.RENEWED;
import static dev.interlock.internal.EngineFixture.TTL;
import static dev.interlock.internal.EngineFixture.inBackground;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.BackendInfo;
import dev.interlock.Lease;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Grants of a store with a queue, which count from the request to join it. */
class QueueValidityTest {

  private final ManualTime time = new ManualTime();
  private final AtomicInteger joined = new AtomicInteger();
  private final Queue<Claim> released = new ConcurrentLinkedQueue<>();

  private int sleeps = 1;
  private boolean busy;
  private boolean stands;
  private boolean isFirst;
  private Duration setBack = Duration.ZERO;

  /** The machine sleeps while the first answers are on their way. */
  private final class Sleepy implements QueueingBackend {
    @Override
    public Place join(Claim claim, Deadline deadline) {
      long sentAt = time.nanoTime();
      if (joined.incrementAndGet() <= sleeps) {
        time.sleepMachine(TTL.plusMillis(1));
      }
      WakeUp closed = new WakeUp(time);
      return new Place() {
        @Override
        public boolean hasPredecessor() {
          return !isFirst;
        }

        @Override
        public Attempt await(Deadline limit) throws InterruptedException {
          time.sleepMachine(setBack.negated());
          return busy && (closed.await(limit) || limit.hasPassed())
              ? new Attempt.Busy(Duration.ZERO)
              : new Attempt.Granted(
                  new Grant(claim, joined.get(), sentAt + TTL.toNanos(), TTL, TTL, true));
        }

        @Override
        public void close() {
          closed.signal();
          if (busy) {
            throw new IllegalArgumentException("a bug of the backend's");
          }
        }
      };
    }

    @Override
    public boolean release(Claim claim, Deadline deadline) {
      return released.add(claim);
    }

    @Override
    public BackendInfo info() {
      return BackendInfoBuilder.of("sleepy", "").build();
    }

    @Override
    public String endpoint() {
      return "here";
    }

    @Override
    public Attempt tryAcquire(Claim claim, Deadline deadline) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Renewal renew(Grant grant, Deadline deadline) {
      return stands
          ? new Renewal.Renewed(time.nanoTime() + TTL.toNanos())
          : new Renewal.Lost(LossReason.TAKEN, "not there");
    }

    @Override
    public LockState inspect(String name, Deadline deadline) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean forceRelease(String name, Deadline deadline) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
  }

  @Test
  void sleepBetweenTheEntryAndTheGrantCountsToo() throws Exception {
    try (DefaultLockClient engine = new DefaultLockClient(context -> new Sleepy(), RENEWED, time)) {
      EngineFixture.Background<Optional<Lease>> waiter =
          inBackground(() -> engine.lock("a").tryAcquire(TTL.multipliedBy(2)));
      time.awaitAsleep(waiter.thread);
      assertFalse(waiter.result.isDone(), "a grant from before the machine slept was taken");
      Waits.until("the late grant to be given back", () -> released.size() == 1);
      time.advance(TTL);
      Lease lease = waiter.get().orElseThrow();
      assertEquals(2, joined.get());
      assertTrue(lease.isHeld());
      lease.release();
    }
  }

  @Test
  void aGrantThatTheStoreConfirmsAfterASleepDuringTheWaitIsTaken() throws Exception {
    stands = true;
    try (DefaultLockClient engine = new DefaultLockClient(context -> new Sleepy(), RENEWED, time);
        Lease lease = engine.lock("a").acquire()) {
      assertEquals(1, joined.get());
      assertEquals(TTL, lease.remainingValidity());
    }
  }

  @Test
  void aClockThatIsSetBackDuringTheWaitHidesNoSleep() throws Exception {
    sleeps = 0;
    isFirst = true; // an earlier head may have waited
    setBack = TTL;
    try (DefaultLockClient engine = new DefaultLockClient(context -> new Sleepy(), RENEWED, time)) {
      Lease lease = engine.lock("a").acquire();
      assertEquals(TTL, lease.remainingValidity());
      time.sleepMachine(TTL.plusMillis(1));
      assertFalse(lease.isHeld());
    }
  }

  @Test
  void grantsThatAreAlwaysLateAreAskedForLessAndLessOften() throws Exception {
    sleeps = Integer.MAX_VALUE;
    try (DefaultLockClient engine = new DefaultLockClient(context -> new Sleepy(), RENEWED, time)) {
      EngineFixture.Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
      while (!waiter.result.isDone()) {
        Waits.until("a pause", () -> waiter.result.isDone() || time.isAsleep(waiter.thread));
        time.advance(Duration.ofMillis(100));
      }
      ExecutionException failure = assertThrows(ExecutionException.class, waiter::get);
      assertInstanceOf(LockUnavailableException.class, failure.getCause());
      assertTrue(joined.get() < 40, () -> "asked " + joined + " times");
    }
  }

  @Test
  void aPlaceThatFailsToCloseDoesNotKeepTheClientFromClosing() throws Exception {
    busy = true;
    DefaultLockClient engine = new DefaultLockClient(context -> new Sleepy(), RENEWED, time);
    EngineFixture.Background<Lease> waiter = inBackground(() -> engine.lock("a").acquire());
    time.awaitAsleep(waiter.thread);
    engine.close();
    ExecutionException failure = assertThrows(ExecutionException.class, waiter::get);
    assertInstanceOf(IllegalStateException.class, failure.getCause());
    Waits.until("nothing to be left", () -> engine.residue() == 0);
  }
}
