package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Share;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;
import org.junit.jupiter.api.Test;

/**
 * The local queue under all interleavings of a few operations: one head at a time, no lost waiter.
 */
class LocalQueueLincheckTest {

  private static final String NAME = "a";

  /**
   * A queue, and waiters that are new each time and belong to the thread that enters them, so that
   * only the queue is shared.
   */
  @Param(name = "thread", gen = ThreadIdGen.class)
  public static class TestedQueue {
    private static final int MAX_THREADS = 8;

    private final LocalQueue.Index queues;
    private final AtomicBoolean hasHead = new AtomicBoolean();
    private final AtomicBoolean twoHeads = new AtomicBoolean();

    /** The number of threads that are about to say whether they are the head. */
    private final AtomicInteger entering = new AtomicInteger();

    /** The last waiter of each thread. */
    private final Waiter[] waiters = new Waiter[MAX_THREADS];

    public TestedQueue() {
      this(0);
    }

    TestedQueue(int maxIdle) {
      queues = new LocalQueue.Index(maxIdle);
    }

    private final class Waiter implements LocalQueue.Waiter {
      @Override
      public Request request() {
        throw new AssertionError("nobody hands over here");
      }

      @Override
      public long enteredAt() {
        return 0;
      }

      @Override
      public boolean onHead() {
        becomeHead();
        return true;
      }

      @Override
      public void onHandoff(LeaseState lease) {
        throw new AssertionError("nobody hands over here");
      }

      @Override
      public void onAnswer(LocalQueue.Answer answer) {}

      @Override
      public void onOutage(LockUnavailableException problem) {}

      @Override
      public void onClose() {
        throw new AssertionError("nobody closes here");
      }
    }

    private void becomeHead() {
      if (!hasHead.compareAndSet(false, true)) {
        twoHeads.set(true);
      }
    }

    @Operation
    public String enter(@Param(name = "thread") int thread) {
      Waiter waiter = new Waiter();
      waiters[thread] = waiter;
      entering.incrementAndGet();
      boolean isHead = queues.enter(NAME, Share.EXCLUSIVE, waiter);
      if (isHead) {
        becomeHead();
      }
      entering.decrementAndGet();
      return isHead ? "head" : "waiter";
    }

    @Operation
    public boolean tryEnter() {
      entering.incrementAndGet();
      boolean entered = queues.tryEnter(NAME, Share.EXCLUSIVE);
      if (entered) {
        becomeHead();
      }
      entering.decrementAndGet();
      return entered;
    }

    /** Removes the last waiter of the thread. */
    @Operation
    public boolean leave(@Param(name = "thread") int thread) {
      Waiter waiter = waiters[thread];
      return waiter != null && queues.of(NAME).leave(waiter);
    }

    /** Only a head promotes the next, and there is only one. */
    @Operation(nonParallelGroup = "head")
    public void pass() {
      // A thread that has just become the head is about to say so.
      while (entering.get() > 0 && !hasHead.get()) {
        Thread.onSpinWait();
      }
      if (hasHead.getAndSet(false)) {
        pass(queues);
      }
    }

    void pass(LocalQueue.Index passed) {
      passed.of(NAME).promoteNext();
    }

    @Operation(nonParallelGroup = "head")
    public boolean wereThereTwoHeads() {
      return twoHeads.get();
    }
  }

  /** A queue that is kept for the next head. */
  public static class KeptQueue extends TestedQueue {
    public KeptQueue() {
      super(1);
    }
  }

  /** A queue whose head promotes the next twice, which the check must find. */
  public static class QueueWithADoublePass extends TestedQueue {
    @Override
    void pass(LocalQueue.Index passed) {
      super.pass(passed);
      super.pass(passed);
    }
  }

  @Test
  void operationsAreAtomicUnderStress() {
    StressOptions options =
        new StressOptions()
            .iterations(10)
            .invocationsPerIteration(500)
            .threads(3)
            .actorsPerThread(3);
    options.check(TestedQueue.class);
    options.check(KeptQueue.class);
  }

  @Test
  void operationsAreAtomicUnderEverySchedule() {
    ModelCheckingOptions options =
        new ModelCheckingOptions()
            .iterations(4)
            .invocationsPerIteration(100)
            .threads(3)
            .actorsPerThread(2);
    options.check(TestedQueue.class);
    options.check(KeptQueue.class);
  }

  @Test
  void aHeadThatPassesTwiceIsFound() {
    assertThrows(
        LincheckAssertionError.class,
        () ->
            new ModelCheckingOptions()
                .iterations(100)
                .invocationsPerIteration(200)
                .threads(2)
                .actorsPerThread(4)
                .minimizeFailedScenario(false)
                .check(QueueWithADoublePass.class));
  }
}
