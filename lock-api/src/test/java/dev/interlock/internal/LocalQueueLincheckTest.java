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

/** The local line under all interleavings of a few operations: one head at a time, nobody lost. */
class LocalQueueLincheckTest {

  private static final String NAME = "a";

  /**
   * The line, and waiters that are new each time and belong to the thread that sent them there, so
   * that nothing but the line is shared.
   */
  @Param(name = "thread", gen = ThreadIdGen.class)
  public static class Line {
    private static final int MOST_THREADS = 8;

    private final LocalQueue.Index line;
    private final AtomicBoolean headTold = new AtomicBoolean();
    private final AtomicBoolean twoHeads = new AtomicBoolean();

    /** How many are about to say whether they are the head. */
    private final AtomicInteger entering = new AtomicInteger();

    /** Each thread's last. */
    private final Waiter[] waiters = new Waiter[MOST_THREADS];

    public Line() {
      this(0);
    }

    Line(int kept) {
      line = new LocalQueue.Index(kept);
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
      if (!headTold.compareAndSet(false, true)) {
        twoHeads.set(true);
      }
    }

    @Operation
    public String enter(@Param(name = "thread") int thread) {
      Waiter waiter = new Waiter();
      waiters[thread] = waiter;
      entering.incrementAndGet();
      boolean isHead = line.enter(NAME, Share.EXCLUSIVE, waiter);
      if (isHead) {
        becomeHead();
      }
      entering.decrementAndGet();
      return isHead ? "head" : "in line";
    }

    @Operation
    public boolean tryEnter() {
      entering.incrementAndGet();
      boolean entered = line.tryEnter(NAME, Share.EXCLUSIVE);
      if (entered) {
        becomeHead();
      }
      entering.decrementAndGet();
      return entered;
    }

    /** By the last waiter of the thread. */
    @Operation
    public boolean leave(@Param(name = "thread") int thread) {
      Waiter waiter = waiters[thread];
      return waiter != null && line.of(NAME).leave(waiter);
    }

    /** Only a head passes, and there is only one. */
    @Operation(nonParallelGroup = "head")
    public void pass() {
      // Whoever has just become the head in the line is about to say so.
      while (entering.get() > 0 && !headTold.get()) {
        Thread.onSpinWait();
      }
      if (headTold.getAndSet(false)) {
        pass(line);
      }
    }

    void pass(LocalQueue.Index passed) {
      passed.of(NAME).endTurn();
    }

    @Operation(nonParallelGroup = "head")
    public boolean wereThereTwoHeads() {
      return twoHeads.get();
    }
  }

  /** The same where the queue stays for the next head. */
  public static class LineThatStays extends Line {
    public LineThatStays() {
      super(1);
    }
  }

  /** The same with a head that passes twice: what the check has to find. */
  public static class LineWithADoublePass extends Line {
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
    options.check(Line.class);
    options.check(LineThatStays.class);
  }

  @Test
  void operationsAreAtomicUnderEverySchedule() {
    ModelCheckingOptions options =
        new ModelCheckingOptions()
            .iterations(4)
            .invocationsPerIteration(100)
            .threads(3)
            .actorsPerThread(2);
    options.check(Line.class);
    options.check(LineThatStays.class);
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
                .check(LineWithADoublePass.class));
  }
}
