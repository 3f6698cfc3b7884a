package dev.interlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.simulation.workload.Plan;
import dev.interlock.tck.sample.Sample;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The client keeps the contract in every world. */
class SimulationTest {

  private static final long MAX_SEED = 1_000_000_000_000L;
  private static final int WORLDS_PER_SAMPLE = 8;

  /** Runs the worlds of the sample, the world to repeat, or as many as a minute allows. */
  @Test
  void freshSeeds() {
    Long repeated = Long.getLong("interlock.seed");
    Optional<Sample> sample = Sample.ofRun();
    if (repeated != null) {
      assertNoFailure(repeated);
    } else if (sample.isPresent()) {
      long first = sample.get().draw("worlds") % MAX_SEED;
      for (long seed = first; seed < first + WORLDS_PER_SAMPLE; seed++) {
        assertNoFailure(seed);
      }
    } else {
      simulate(TimeUnit.MINUTES.toNanos(1));
    }
  }

  @Test
  @Tag("extended")
  @Timeout(value = 10, unit = TimeUnit.MINUTES)
  void freshSeedsForFiveMinutes() {
    simulate(TimeUnit.MINUTES.toNanos(5));
  }

  /** Counts seeds from a random one, so that a later run can continue after the last one. */
  private static void simulate(long nanos) {
    long until = System.nanoTime() + nanos;
    long first = Math.floorMod(System.nanoTime() * 7_919, MAX_SEED);
    long seed = first;
    while (System.nanoTime() - until < 0) {
      assertNoFailure(seed++);
    }
    System.out.println(seed - first + " worlds, with seeds from " + first);
  }

  /**
   * Worlds with exclusive locks only, each of which fails if a particular fix is removed from the
   * client.
   */
  @ParameterizedTest
  @ValueSource(
      longs = {
        50_000, 50_001, 50_007, 50_012, 50_013, 50_016, 50_018, 50_027, 50_035, 50_040, 50_046,
        50_049, 50_055, 50_076, 50_080, 50_081, 50_092, 50_131, 50_803, 8_002_924
      })
  void seedsThatFindRemovedFixes(long seed) {
    requireInSample(seed);
    assertNoFailure(Plan.ofLocks(seed));
  }

  /** Worlds with all kinds of locks that fail if a fix is removed; the last, one of a check. */
  @ParameterizedTest
  @ValueSource(
      longs = {
        28_616_446_704L, // a late grant to a client that is being closed
        425_602_189_038L, // a reader that takes over the place of an earlier one
        290_390_831_537L, // waiters that wake each other while most servers are down
        748_719_035_621L, // a client that is stopped until its new lease has ended
        846_326_072_742L, // a waiter that takes over the pauses of one with a shorter TTL
        673_118_871_487L, // an observer that asks again after a stop, while its last request is
        // late
        104_127_502_569L, // an outage that meets a waiter who takes over the place of another
        120_459_244_907L, // a client that is stopped before it reads that the lock is held
        378_667_358_473L // a set that waits for a thread while the store fails
      })
  void seedsOfAllKindsThatFindRemovedFixes(long seed) {
    requireInSample(seed);
    assertNoFailure(seed);
  }

  private static void requireInSample(long seed) {
    Sample.require(sample -> sample.draw("seed " + seed) % 6 == 0);
  }

  private static void assertNoFailure(long seed) {
    assertNoFailure(Plan.of(seed));
  }

  private static void assertNoFailure(Plan plan) {
    String failure = Simulation.failureOf(plan);
    if (failure != null) {
      fail(failure);
    }
  }

  @Test
  void aSeedDeterminesEverything() {
    for (long seed = 1; seed <= 4; seed++) {
      World.Result once = World.run(Plan.of(seed), null, false);
      World.Result again = World.run(Plan.of(seed), null, true);
      assertEquals(once.fingerprint(), again.fingerprint(), "seed " + seed);
      assertEquals(once.steps(), again.steps(), "seed " + seed);
      assertNotEquals(0, once.leases(), "seed " + seed);
    }
  }
}
