package dev.interlock.internal;

import static dev.interlock.internal.EngineFixture.RENEWED;
import static dev.interlock.internal.EngineFixture.inBackground;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.Uninterruptibles;
import dev.interlock.Lease;
import dev.interlock.LockOptions;
import dev.interlock.internal.EngineFixture.Background;
import dev.interlock.memory.MemoryProvider;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.QueueingBackend;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The next head on a store with a queue, while the lease of the head before it still begins. */
class NextHeadInQueueTest {

  private static int numbers;

  private final int number = numbers++;
  private final ManualTime time = new ManualTime();
  private final InterceptedTime intercepted = new InterceptedTime(time);
  private final DefaultLockClient engine =
      new DefaultLockClient(this::memory, RENEWED, intercepted);
  private volatile Runnable beforeRelease = () -> {};
  private final DefaultLockClient stranger =
      new DefaultLockClient(
          c -> new MemoryProvider().open(LockUri.parse("memory:next-head-" + number), c),
          RENEWED,
          time);

  private LockBackend memory(BackendContext its) {
    LockBackend memory =
        new MemoryProvider().open(LockUri.parse("memory:next-head-" + number), its);
    return (LockBackend)
        Proxy.newProxyInstance(
            QueueingBackend.class.getClassLoader(),
            new Class<?>[] {QueueingBackend.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("release")) {
                beforeRelease.run();
              }
              try {
                return method.invoke(memory, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private int waiters() {
    return stranger.admin().inspect("a").waiters().size();
  }

  /**
   * The machine sleeps while the first head begins its lease. The timer's thread continues first,
   * loses the lease, undoes it, and makes the second waiter the head. That head finds the contender
   * of the first, whose place was granted already.
   */
  @Test
  void theNextHeadDoesNotTakeOverAnAttemptThatIsBeingUndone() throws Exception {
    nextHeadAfter(RENEWED, () -> time.sleepMachine(EngineFixture.TTL.plusSeconds(1)));
  }

  /**
   * The first head's thread pauses for longer than the maximum hold of its lease, without a sleep
   * of the machine.
   */
  @Test
  void theNextHeadDoesNotTakeOverAGrantAtItsMaximumHold() throws Exception {
    Duration maxHold = Duration.ofSeconds(1);
    nextHeadAfter(RENEWED.toBuilder().maxHold(maxHold).build(), () -> time.pass(maxHold));
  }

  private void nextHeadAfter(LockOptions options, Runnable pause) throws Exception {
    CountDownLatch undoing = new CountDownLatch(1);
    CompletableFuture<Background<Lease>> second = new CompletableFuture<>();
    Background<Boolean> one =
        inBackground(
            () -> {
              intercepted.whenCalledHere(
                  "watchSleep",
                  () -> {
                    second.complete(inBackground(() -> engine.lock("a").acquire()));
                    time.awaitAsleep(second.join().thread);
                    beforeRelease = () -> Uninterruptibles.awaitUninterruptibly(undoing);
                    pause.run();
                    // As HeldGrant.fire does on the timer's thread.
                    Objects.requireNonNull(engine.holdings.queues.of("a").grant()).endOverdue();
                    assertNull(engine.holdings.queues.of("a").grant());
                    Waits.until(
                        "the next head to join the queue, or to be granted the lock",
                        () -> waiters() == 1 || second.join().result.isDone());
                  });
              engine.lock("a", EngineFixture.like(options)).acquire().close();
              return true;
            });
    try {
      Waits.until("the step in", intercepted::hasRun);
      Waits.until("the next head", () -> second.isDone() && waiters() == 1);
      assertFalse(second.join().result.isDone(), "granted what is being undone");
    } finally {
      undoing.countDown();
    }
    second.join().get().close();
    assertTrue(one.get());
  }

  @Test
  void anErrorWhileAPlaceIsWithdrawnLeavesNoHead() throws Exception {
    Lease blocking = stranger.lock("a").acquire();
    Background<Optional<Lease>> trying =
        inBackground(() -> engine.lock("a").tryAcquire(Duration.ofSeconds(1)));
    time.awaitAsleep(trying.thread);
    intercepted.when(
        "endAttempt",
        () -> {
          throw new OutOfMemoryError("of the test");
        });
    time.advance(Duration.ofSeconds(1));
    trying.result.handle((had, failure) -> 0).get(30, TimeUnit.SECONDS);
    assertTrue(intercepted.hasRun());
    blocking.close();
    assertEquals(0, engine.holdings.queues.size(), "heads that nobody is");
  }
}
