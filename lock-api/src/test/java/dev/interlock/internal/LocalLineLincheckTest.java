package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.interlock.LockOptions;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.Test;

/** The local line under all interleavings of a few operations: one head at a time, nobody lost. */
class LocalLineLincheckTest {

  private static final String NAME = "a";

  /** The line, with three waiters that may or may not be in it. */
  @Param(name = "waiter", gen = IntGen.class, conf = "0:2")
  public static class Line {
    private final LocalLine line = new LocalLine();
    private final AtomicReference<String> head = new AtomicReference<>("none");
    private final AtomicBoolean twoHeads = new AtomicBoolean();
    private final Waiter[] waiters = {new Waiter("0"), new Waiter("1"), new Waiter("2")};

    private final class Waiter implements LocalLine.Waiter {
      final String number;
      final AtomicBoolean present = new AtomicBoolean();

      Waiter(String number) {
        this.number = number;
      }

      @Override
      public Request request() {
        return new Request(NAME, LockOptions.defaults(), number, false, null);
      }

      @Override
      public long enteredAt() {
        return 0;
      }

      @Override
      public void onHead() {
        become(number);
      }

      @Override
      public void onHandOver(LeaseState lease) {
        throw new AssertionError("nobody hands over here");
      }

      @Override
      public void onClose() {
        throw new AssertionError("nobody closes here");
      }
    }

    private void become(String who) {
      if (!head.compareAndSet("none", who)) {
        twoHeads.set(true);
      }
    }

    /** One after the other, since what this notes down of a waiter is not part of the line. */
    @Operation(nonParallelGroup = "enter")
    public String enter(@Param(name = "waiter") int number) {
      Waiter waiter = waiters[number];
      if (!waiter.present.compareAndSet(false, true)) {
        return "is in line already";
      }
      if (line.enter(NAME, waiter)) {
        become(waiter.number);
        return "head";
      }
      return "in line";
    }

    @Operation
    public boolean tryEnter() {
      boolean entered = line.tryEnter(NAME);
      if (entered) {
        become("somebody");
      }
      return entered;
    }

    @Operation
    public boolean leave(@Param(name = "waiter") int number) {
      boolean left = line.leave(NAME, waiters[number]);
      if (left) {
        waiters[number].present.set(false);
      }
      return left;
    }

    /** Only a head passes, and there is only one. */
    @Operation(nonParallelGroup = "head")
    public void pass() {
      // Whoever has just become the head in the line is about to say so.
      while (line.hasHead(NAME) && head.get().equals("none")) {
        Thread.onSpinWait();
      }
      String who = head.get();
      if (!who.equals("none")) {
        head.set("none");
        pass(line);
        if (!who.equals("somebody")) {
          waiters[Integer.parseInt(who)].present.set(false);
        }
      }
    }

    void pass(LocalLine passed) {
      passed.pass(NAME);
    }

    @Operation(nonParallelGroup = "head")
    public boolean wereThereTwoHeads() {
      return twoHeads.get();
    }
  }

  /** The same with a head that passes twice: what the check has to find. */
  public static class LineWithADoublePass extends Line {
    @Override
    void pass(LocalLine passed) {
      super.pass(passed);
      super.pass(passed);
    }
  }

  @Test
  void operationsAreAtomicUnderStress() {
    new StressOptions()
        .iterations(10)
        .invocationsPerIteration(500)
        .threads(3)
        .actorsPerThread(3)
        .check(Line.class);
  }

  @Test
  void operationsAreAtomicUnderEverySchedule() {
    new ModelCheckingOptions()
        .iterations(4)
        .invocationsPerIteration(100)
        .threads(3)
        .actorsPerThread(2)
        .check(Line.class);
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
                .check(LineWithADoublePass.class));
  }
}
