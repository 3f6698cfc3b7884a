package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LeaderElection;
import dev.interlock.Lease;
import dev.interlock.MultiLease;
import dev.interlock.Registration;
import dev.interlock.spi.Share;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Acquisitions, releases and losses that an error cuts off. */
class StackTest extends EngineFixture {

  private interface Acquiring {
    Lease acquire(String name) throws Exception;
  }

  private interface Step {
    void take(int number) throws Exception;
  }

  /**
   * Recurses to the end of the stack, and runs a step at every depth near it, until there is so
   * much room that no step is cut off.
   */
  private static final class Diver implements Runnable {
    private static final int STEPS_WITHOUT_OVERFLOW = 50;

    // A frame may have only 16 bytes of the room that is required.
    private static final int MAX_STEPS = 20_000;

    private final Step step;
    private int steps;
    private int cutOff;
    private int lastCutOff;

    Diver(Step step) {
      this.step = step;
    }

    @Override
    @SuppressWarnings("InfiniteRecursion") // until there is no stack left
    public void run() {
      try {
        run();
      } catch (StackOverflowError e) {
        // From here up there is more and more room.
      }
      if (steps < MAX_STEPS && steps - lastCutOff < STEPS_WITHOUT_OVERFLOW) {
        steps++;
        try {
          step.take(steps);
        } catch (StackOverflowError e) {
          cutOff++;
          lastCutOff = steps;
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
      assertTrue(cutOff > 0, "nothing was cut off");
      assertTrue(cutOff < steps, "all was cut off");
    }
  }

  private void assertNothingHeldAfter(Acquiring acquiring) throws Exception {
    acquiring.acquire("n0").close(); // so that all classes are loaded
    for (int i = 0; i < 2; i++) {
      List<Lease> leases = new ArrayList<>(1_000);
      Diver diver = new Diver(number -> leases.add(acquiring.acquire("n" + number)));
      diver.dive();
      leases.forEach(Lease::close);
      assertEquals(0, held(diver.steps), () -> "of " + diver.cutOff + " that were cut off");
    }
  }

  private long held(int tries) {
    int count = 0;
    for (int i = 1; i <= tries; i++) {
      count +=
          store.holds("n" + i) || engine.holdings.queues.of("n" + i).isBusy(Share.EXCLUSIVE)
              ? 1
              : 0;
    }
    return count;
  }

  @Test
  void anAcquisitionThatRunsOutOfStackHoldsNothing() throws Exception {
    assertNothingHeldAfter(name -> engine.lock(name).acquire());
  }

  @Test
  void anAttemptThatRunsOutOfStackHoldsNothing() throws Exception {
    assertNothingHeldAfter(name -> engine.lock(name).tryAcquire().orElseThrow());
  }

  @Test
  void aSetThatRunsOutOfStackHoldsNothing() throws Exception {
    assertNothingHeldAfter(name -> engine.multiLock(List.of(name)).acquire());
  }

  @Test
  void aReleaseThatRunsOutOfStackCanBeRepeated() throws Exception {
    engine.lock("n0").acquire().close();
    for (int round = 0; round < 2; round++) {
      List<Lease> leases = new ArrayList<>();
      for (int i = 1; i <= 1_000; i++) {
        leases.add(engine.lock("n" + i).acquire());
      }
      Diver diver = new Diver(number -> leases.get(number % leases.size()).close());
      diver.dive();
      leases.forEach(Lease::close);
      assertEquals(0, held(1_000), () -> "of " + diver.cutOff + " that were cut off");
    }
  }

  @Test
  void theLossOfASetThatRunsOutOfStackIsReported() throws Exception {
    MultiLease first = engine.multiLock(List.of("p", "q"), like(FIXED)).acquire();
    List<MultiLease> sets = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      sets.add(engine.multiLock(List.of("x" + i, "y" + i), like(FIXED)).acquire());
    }
    time.sleepMachine(TTL.multipliedBy(2));
    assertFalse(first.isHeld());
    new Diver(number -> sets.get(number % sets.size()).isHeld()).dive();
    for (MultiLease set : sets) {
      assertFalse(set.isHeld());
      get(set.onLoss());
    }
  }

  @Test
  void anObserverThatRunsOutOfStackLeavesNothing() throws Exception {
    engine.election("n0").observe(leader -> {}).close();
    List<Registration> registrations = new ArrayList<>(1_000);
    new Diver(number -> registrations.add(engine.election("n" + number % 20).observe(leader -> {})))
        .dive();
    registrations.forEach(Registration::close);
    assertEquals(0, engine.residue());
  }

  @Test
  void aCandidacyThatRunsOutOfStackCampaignsForNothing() throws Exception {
    List<LeaderElection.Candidacy> candidacies = new ArrayList<>(1_000);
    engine.election("n0").start(leadership -> {}).close();
    Diver diver =
        new Diver(
            number ->
                candidacies.add(
                    engine
                        .election("n" + number)
                        .start(leadership -> new CountDownLatch(1).await())));
    diver.dive();
    candidacies.forEach(LeaderElection.Candidacy::close);
    assertEquals(0, held(diver.steps));
    advanceUntil("nothing to be left", () -> engine.residue() == 0);
  }

  @Test
  void anErrorBeforeTheReturnReleasesTheLock() throws Exception {
    Function<LeaseState, Lease> failing =
        lease -> {
          throw new OutOfMemoryError("of the test");
        };
    assertThrows(
        OutOfMemoryError.class,
        () -> BlockingAcquisition.acquire(engine.acquirer, acquireRequest(RENEWED), failing));
    assertTrue(!store.holds("a"));
    assertEquals(0, engine.residue());
  }
}
