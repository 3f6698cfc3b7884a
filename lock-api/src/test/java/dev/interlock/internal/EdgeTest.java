package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Ends, clocks and stacks that other tests do not reach. */
class EdgeTest extends EngineFixture {

  /** Goes down to the end of the stack, and calls release at every depth near it. */
  private static final class Diver implements Runnable {
    private final List<Lease> leases;
    private int tries;
    private int cutOff;

    Diver(List<Lease> leases) {
      this.leases = leases;
    }

    @Override
    @SuppressWarnings("InfiniteRecursion")
    public void run() {
      try {
        run();
      } catch (StackOverflowError e) {
        // up
      }
      if (tries < leases.size()) {
        Lease lease = leases.get(tries++);
        try {
          var unused = lease.release();
        } catch (StackOverflowError e) {
          cutOff++;
        }
      }
    }
  }

  @Test
  void aReleaseThatRunsOutOfStackCanBeRepeated() throws Exception {
    engine.lock("warm").acquire().close();
    for (int round = 0; round < 5; round++) {
      List<Lease> leases = new ArrayList<>();
      for (int i = 0; i < 400; i++) {
        leases.add(engine.lock("n" + i).acquire());
      }
      Diver diver = new Diver(leases);
      Thread thread = new Thread(null, diver, "diver", 512 << 10);
      thread.start();
      thread.join();
      for (Lease lease : leases) {
        var unused = lease.release();
      }
      int held = 0;
      int heads = 0;
      for (int i = 0; i < 400; i++) {
        held += store.holds("n" + i) ? 1 : 0;
        heads += engine.line.isBusy("n" + i) ? 1 : 0;
      }
      assertEquals(0, heads, () -> "of " + diver.cutOff);
      assertEquals(0, held);
    }
  }

  @Test
  void aPauseBetweenTheClocksDoesNotHideSleep() throws Exception {
    List<Duration> pause = new ArrayList<>(List.of(Duration.ofSeconds(8)));
    boolean[] armed = {false};
    dev.interlock.spi.TimeSource paused =
        new dev.interlock.spi.TimeSource() {
          @Override
          public long nanoTime() {
            return time.nanoTime();
          }

          @Override
          public long wallMillis() {
            if (armed[0]
                && !pause.isEmpty()
                && StackWalker.getInstance()
                    .walk(f -> f.limit(6).anyMatch(x -> x.getMethodName().equals("nextAttempt")))) {
              time.pass(pause.remove(0));
            }
            return time.wallMillis();
          }

          @Override
          public void parkUntil(Object blocker, long untilNanos) {
            time.parkUntil(blocker, untilNanos);
          }
        };
    try (Engine client = new Engine(store::open, RENEWED, paused)) {
      armed[0] = true;
      Lease lease = client.lock("a", FIXED).acquire();
      assertTrue(pause.isEmpty());
      time.sleepMachine(TERM.plusSeconds(1));
      assertTrue(!lease.isHeld());
    }
  }

  @Test
  void whoIsHandedALeaseThatWasForsakenJustBeforeItsReleaseHasItRenewed() throws Exception {
    LeaseState[] state = new LeaseState[1];
    Boolean got =
        engine.acquire(
            untilHad(RENEWED),
            lease -> {
              state[0] = lease;
              return true;
            });
    assertTrue(got);
    Background<Lease> next = inBackground(() -> acquire(RENEWED));
    time.awaitAsleep(next.thread);
    state[0].abandon("of the test");
    var unused = state[0].release();
    Lease lease = next.get();
    for (int i = 0; i < 9; i++) {
      time.advance(TERM.dividedBy(3));
      Waits.until("a renewal", () -> lease.remainingValidity().equals(TERM));
    }
  }

  @Test
  void aLeaseIsNotHandedOverWhoseValidityTheMachineHasSleptAway() throws Exception {
    Lease first = acquire(RENEWED);
    Background<Lease> next = inBackground(() -> acquire(RENEWED));
    time.awaitAsleep(next.thread);
    time.sleepMachine(TERM.multipliedBy(3).dividedBy(4));
    first.close();
    Lease lease = next.get();
    assertTrue(
        lease.remainingValidity().compareTo(TERM.multipliedBy(2).dividedBy(3)) >= 0,
        () -> "left: " + lease.remainingValidity());
    lease.close();
  }
}
