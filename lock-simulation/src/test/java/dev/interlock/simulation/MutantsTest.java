package dev.interlock.simulation;

import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.spi.ClientsOnAClock;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import dev.interlock.tck.specimen.MemorySpecimens;
import dev.interlock.tck.specimen.Specimen;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Worlds find what is wrong with the mutants of the kit. */
class MutantsTest {

  private static final int MOST_WORLDS = 100;

  /** Those whose fault shows in what worlds do; the others are about names, addresses and heap. */
  private static final Set<String> FOUND =
      Set.of(
          "expiry ignored",
          "check-then-set",
          "waiter not woken",
          "last come, first served",
          "validity counted from the reply of a slow line",
          "renewal that is never sent",
          "attempt that waits",
          "timeout ignored",
          "contention as a failure",
          "waiting by spinning",
          "loss never signalled",
          "loss signalled on release",
          "release that forgets what it did",
          "token constant",
          "token repeated",
          "token per client",
          "view that is not reentrant");

  @TestFactory
  Stream<DynamicTest> everyMutantIsFound() {
    return MemorySpecimens.all().stream()
        .filter(mutant -> FOUND.contains(mutant.name()))
        .map(mutant -> DynamicTest.dynamicTest(mutant.name(), () -> find(mutant)));
  }

  @Test
  void theReferenceItselfIsWell() {
    for (long seed = 1; seed <= 60; seed++) {
      String store = "memory:world-" + seed;
      World.Opening opening = (options, time) -> ClientsOnAClock.open(store, options, time);
      Plan plan = Plan.of(seed, Plan.Store.MEMORY);
      Failure failure = World.run(plan, opening, false).failure();
      if (failure != null) {
        fail(Simulation.report(plan, failure, opening));
      }
    }
  }

  private static void find(Specimen mutant) throws Exception {
    for (long seed = 1; seed <= MOST_WORLDS; seed++) {
      Failure failure = failure(mutant, seed);
      if (failure != null) {
        assertNotEquals("hang", failure.rule(), "it waits by other clocks than the world's");
        System.out.println(
            mutant.name() + " | " + seed + " | " + failure.toString().split("\n", 2)[0]);
        return;
      }
    }
    fail("not found in " + MOST_WORLDS + " worlds");
  }

  private static @Nullable Failure failure(Specimen mutant, long seed) throws Exception {
    Harness harness = mutant.harness();
    try (Server server = harness.start()) {
      return World.run(
              Plan.of(seed, Plan.Store.MEMORY),
              (options, time) -> harness.open(server.uri(), options, time),
              false)
          .failure();
    }
  }
}
