package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.MultiLease;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Acquisitions that are cut off by an error. */
class StackTest extends EngineFixture {

  private interface Acquiring {
    Object acquire(String name) throws Exception;
  }

  /**
   * Goes down to the end of the stack, and acquires at every depth near it, until there is so much
   * room that none is cut off any more.
   */
  private static final class Diver implements Runnable {
    private static final int ENOUGH = 50;

    private final Acquiring acquiring;
    private final List<Object> leases = new ArrayList<>(2_000);
    private int tries;
    private int cutOff;
    private int lastCutOff;

    Diver(Acquiring acquiring) {
      this.acquiring = acquiring;
    }

    @Override
    @SuppressWarnings("InfiniteRecursion") // until there is no stack left
    public void run() {
      try {
        run();
      } catch (StackOverflowError e) {
        // From here up there is more and more room.
      }
      if (tries < 1_000 && tries - lastCutOff < ENOUGH) {
        tries++;
        try {
          leases.add(acquiring.acquire("n" + tries));
        } catch (StackOverflowError e) {
          cutOff++;
          lastCutOff = tries;
        } catch (Exception e) {
          throw new AssertionError(e);
        }
      }
    }

    void dive() throws Exception {
      Thread thread = new Thread(null, this, "diver", 512 << 10);
      thread.setDaemon(true);
      thread.start();
      thread.join();
    }
  }

  private void assertNothingHeldAfter(Acquiring acquiring) throws Exception {
    acquiring.acquire("n0"); // so that all classes are loaded
    for (int i = 0; i < 5; i++) {
      Diver diver = new Diver(acquiring);
      diver.dive();
      assertTrue(diver.cutOff > 0, "none was cut off");
      assertTrue(!diver.leases.isEmpty(), "all were cut off");
      for (Object lease : diver.leases) {
        var unused = ((Lease) lease).release();
      }
      assertEquals(0, held(diver.tries), () -> "of " + diver.cutOff + " that were cut off");
    }
  }

  private long held(int tries) {
    int held = 0;
    for (int i = 1; i <= tries; i++) {
      held += store.holds("n" + i) || engine.line.isBusy("n" + i) ? 1 : 0;
    }
    return held;
  }

  @Test
  void whatRunsOutOfStackHoldsNothing() throws Exception {
    assertNothingHeldAfter(name -> engine.lock(name).acquire());
  }

  @Test
  void anAttemptThatRunsOutOfStackHoldsNothing() throws Exception {
    assertNothingHeldAfter(name -> engine.lock(name).tryAcquire().orElseThrow());
  }

  @Test
  void aSetThatRunsOutOfStackHoldsNothing() throws Exception {
    assertNothingHeldAfter(
        name -> {
          MultiLease lease = engine.lockAll(List.of(name)).acquire();
          return lease;
        });
  }

  @Test
  void anErrorOnTheWayToTheUserGivesTheLockUp() throws Exception {
    Function<LeaseState, Lease> failing =
        lease -> {
          throw new OutOfMemoryError("of the test");
        };
    assertThrows(OutOfMemoryError.class, () -> engine.acquire(untilHad(RENEWED), failing));
    assertTrue(!store.holds("a"));
    assertEquals(0, engine.residue());
  }
}
