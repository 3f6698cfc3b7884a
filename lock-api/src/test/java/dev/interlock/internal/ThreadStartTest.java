package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LeaderElection;
import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.LossReason;
import dev.interlock.Registration;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A JVM that cannot start threads for a while. */
class ThreadStartTest {

  private static final Duration INTERVAL = EngineFixture.TTL.dividedBy(3);

  private final ManualTime time = new ManualTime();
  private final FakeStore store = new FakeStore(time);
  private final Exhausted platform = new Exhausted(Platform.on(time));
  private final DefaultLockClient engine =
      new DefaultLockClient(store::open, EngineFixture.RENEWED, platform);

  @AfterEach
  void close() {
    platform.exhausted = false;
    engine.close();
  }

  private void advanceUntil(String what, java.util.function.BooleanSupplier condition) {
    EngineFixture.advanceUntil(time, what, condition);
  }

  @Test
  void aRenewalForWhichThereIsNoThreadIsMadeLater() throws Exception {
    Lease lease = engine.lock("a").acquire();
    BlockingQueue<LockEvent> events = EngineFixture.eventsOf(lease);
    platform.exhausted = true;
    time.advance(INTERVAL);
    time.advance(INTERVAL.dividedBy(2));
    assertEquals(0, store.calls(FakeStore.Op.RENEW));
    platform.exhausted = false;
    advanceUntil("the renewal", () -> !events.isEmpty());
    EngineFixture.next(events, LockEvent.Renewed.class);
    assertTrue(lease.isHeld());
  }

  @Test
  void aLossForWhoseListenersThereIsNoThreadIsReportedLaterAndInOrder() throws Exception {
    Lease lease = engine.lock("a").acquire();
    BlockingQueue<LockEvent> events = EngineFixture.eventsOf(lease);
    CompletableFuture<?> lost = lease.onLoss();
    platform.exhausted = true;
    lease.renew();
    store.reportLoss("a", LossReason.TAKEN);
    platform.exhausted = false;
    advanceUntil("the loss to be reported", lost::isDone);
    EngineFixture.next(events, LockEvent.Renewed.class);
    EngineFixture.next(events, LockEvent.Lost.class);
  }

  @Test
  void theOtherLeasesOfABatchGoOnWhenAListenerFindsNoThread() throws Exception {
    Lease first = engine.lock("a").acquire();
    Lease second = engine.lock("b").acquire();
    BlockingQueue<LockEvent> events = EngineFixture.eventsOf(first);
    FakeStore.Gate gate = store.gate(FakeStore.Op.RENEW);
    time.advance(INTERVAL);
    gate.awaitArrival();
    platform.exhausted = true;
    gate.open();
    Waits.until("the renewal", () -> second.remainingValidity().equals(EngineFixture.TTL));
    platform.exhausted = false;
    second.renew();
    advanceUntil("the event", () -> !events.isEmpty());
  }

  @Test
  void nothingIsAcquiredForWhichThereIsNoTimer() throws Exception {
    platform.exhausted = true;
    assertThrows(OutOfMemoryError.class, () -> engine.lock("a").tryAcquire());
    assertEquals(0, store.calls(FakeStore.Op.ACQUIRE));
    assertEquals(0, engine.residue());
    platform.exhausted = false;
    Lease lease = engine.lock("a").acquire();
    time.pass(EngineFixture.TTL);
    EngineFixture.get(lease.onLoss());
  }

  @Test
  void aLongQueueForWhichThereAreNoThreadsEndsInOrder() throws Exception {
    Lease first = engine.lock("a", EngineFixture.like(EngineFixture.FIXED)).acquire();
    List<CompletableFuture<Lease>> waiters = new ArrayList<>();
    for (int i = 0; i < 20_000; i++) {
      waiters.add(engine.lock("a").acquireAsync());
    }
    platform.exhausted = true;
    first.close();
    platform.exhausted = false;
    for (CompletableFuture<Lease> waiter : waiters) {
      advanceUntil("the waiter to end", waiter::isDone);
    }
    assertEquals(0, engine.residue());
  }

  @Test
  void closingReportsEventsThatFoundNoThread() throws Exception {
    Lease lease = engine.lock("a").acquire();
    CompletableFuture<?> lost = lease.onLoss();
    CompletableFuture<Lease> waiter = engine.lock("a").acquireAsync();
    platform.exhausted = true;
    engine.close();
    platform.exhausted = false;
    EngineFixture.get(lost);
    assertThrows(ExecutionException.class, () -> EngineFixture.get(waiter));
  }

  @Test
  void aCandidacyForWhichThereIsNoThreadLeavesNothing() throws Exception {
    LeaderElection election = engine.election("a");
    platform.exhausted = true;
    assertThrows(OutOfMemoryError.class, () -> election.start(leadership -> {}));
    assertThrows(OutOfMemoryError.class, () -> election.observe(leader -> {}));
    assertEquals(0, engine.residue());
    assertEquals(0, store.calls(FakeStore.Op.ACQUIRE));
  }

  @Test
  void anObserverForWhoseRequestThereIsNoThreadIsCalledLater() throws Exception {
    BlockingQueue<Optional<LeaderElection.Leader>> calls = new LinkedBlockingQueue<>();
    try (Registration registration = engine.election("a").observe(calls::add)) {
      Waits.until("the first call", () -> !calls.isEmpty());
      assertEquals(Optional.empty(), calls.remove());
      Lease leadership = engine.lock("a").acquire();
      platform.exhausted = true;
      time.advance(Duration.ofSeconds(2));
      assertTrue(calls.isEmpty());
      platform.exhausted = false;
      advanceUntil("the call", () -> !calls.isEmpty());
      assertTrue(calls.remove().isPresent());
      leadership.close();
    }
    assertEquals(0, engine.residue());
  }

  @Test
  void aFailureAfterASweepDoesNotEndTheTimer() throws Exception {
    CompletableFuture<Boolean> second = new CompletableFuture<>();
    Timer timer =
        new Timer(
            Platform.on(time),
            "fake-timer",
            () -> {
              throw new OutOfMemoryError("of the test");
            });
    timer.schedule(event(() -> {}), time.nanoTime() + 1);
    timer.schedule(event(() -> second.complete(true)), time.nanoTime() + 2);
    time.pass(Duration.ofNanos(1));
    Waits.until("the first", () -> timer.size() == 1);
    time.pass(Duration.ofNanos(1));
    assertTrue(second.get(30, TimeUnit.SECONDS));
    timer.close();
  }

  private static Timer.Event event(Runnable action) {
    return new Timer.Event() {
      @Override
      void fire(long now) {
        action.run();
      }
    };
  }

  private static final class Exhausted implements Platform {
    private final Platform platform;
    private volatile boolean exhausted;

    Exhausted(Platform platform) {
      this.platform = platform;
    }

    private void start() {
      if (exhausted) {
        throw new OutOfMemoryError("unable to create native thread");
      }
    }

    @Override
    public Thread thread(String name, Runnable task) {
      start();
      return platform.thread(name, task);
    }

    @Override
    public ExecutorService pool(String name, int maxThreads, boolean virtual) {
      ExecutorService pool = platform.pool(name, maxThreads, virtual);
      return new AbstractExecutorService() {
        @Override
        public void execute(Runnable task) {
          if (!pool.isShutdown()) {
            start();
          }
          pool.execute(task);
        }

        @Override
        public void shutdown() {
          pool.shutdown();
        }

        @Override
        public List<Runnable> shutdownNow() {
          return pool.shutdownNow();
        }

        @Override
        public boolean isShutdown() {
          return pool.isShutdown();
        }

        @Override
        public boolean isTerminated() {
          return pool.isTerminated();
        }

        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
          return pool.awaitTermination(timeout, unit);
        }
      };
    }

    @Override
    public long random(long bound) {
      return platform.random(bound);
    }

    @Override
    public byte[] unique(int count) {
      return platform.unique(count);
    }

    @Override
    public long nanoTime() {
      return platform.nanoTime();
    }

    @Override
    public long wallMillis() {
      return platform.wallMillis();
    }

    @Override
    public void parkUntil(Object blocker, long untilNanos) {
      platform.parkUntil(blocker, untilNanos);
    }

    @Override
    public void unpark(@Nullable Thread thread) {
      platform.unpark(thread);
    }
  }
}
