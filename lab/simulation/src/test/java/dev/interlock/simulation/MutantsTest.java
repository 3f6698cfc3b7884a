package dev.interlock.simulation;

import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.simulation.machine.Failure;
import dev.interlock.simulation.workload.Plan;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import dev.interlock.tck.sample.Sample;
import dev.interlock.tck.specimen.MemorySpecimens;
import dev.interlock.tck.specimen.Specimen;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Worlds find the mistakes of the mutants of the kit. */
class MutantsTest {

  private static final int MAX_WORLDS = 400;

  private static final int SAMPLE_ONE_MUTANT_IN = 30;

  private static final int SAMPLE_ONE_WORLD_IN = 10;

  private static final String NAMES = "it is about names, of which worlds have seven";
  private static final String ADDRESSES = "it is about how clients are opened by their URI";
  private static final String HEAP = "it is about what stays on the heap";
  private static final String THREADS = "it starts threads that are not the world's";

  private static final String BATCHES =
      "few leases of one client end while they are renewed together";
  private static final String LABELS = "it is about labels, and those of worlds are short";
  private static final String ONE_TTL = "all locks of a client have its TTL";

  /** The mutants that worlds cannot find, each with the reason. */
  private static final Map<String, String> NOT_FOUND =
      Map.ofEntries(
          Map.entry("names case-folded", NAMES),
          Map.entry("long names refused", NAMES),
          Map.entry("long names cut", NAMES),
          Map.entry("URI not looked at", ADDRESSES),
          Map.entry("password repeated", ADDRESSES),
          Map.entry("long labels cut", LABELS),
          Map.entry("label that ends an entry", LABELS),
          Map.entry("TTL of the client for every lock", ONE_TTL),
          Map.entry("renewal with the TTL of the client", ONE_TTL),
          Map.entry("batch by name", BATCHES),
          Map.entry("batch answered in another order", BATCHES),
          Map.entry("batch read up to the first loss", BATCHES),
          Map.entry("weight shown as one", "worlds do not check the permits that are shown"),
          Map.entry("batch with one TTL", ONE_TTL),
          Map.entry("batch with one TTL for each name", ONE_TTL),
          Map.entry("batch cut after a hundred", "no client of a world has a hundred leases"),
          Map.entry(
              "weight forgotten for the minimum hold",
              "minimum holds are checked in worlds without faults, where few are of several permits"),
          Map.entry("batch undone by a loss", "one missed renewal does not end a lease"),
          Map.entry("every name remembered", HEAP),
          Map.entry("expired lease remembered", HEAP),
          Map.entry("abandoned lease kept", HEAP),
          Map.entry("thread per lease", THREADS),
          Map.entry("one thread for all listeners", THREADS),
          Map.entry("loss signalled twice", THREADS),
          Map.entry("renewal on the JVM's timer", THREADS),
          Map.entry("view that keeps a lease for everybody", "only one thread uses each view"),
          Map.entry("handoff called a release", "worlds accept both"),
          Map.entry(
              "deferred release ignored",
              "worlds notice a lock that is free early, and this one is mostly kept for too long"),
          Map.entry("sleep not noticed", "clients in one JVM have one clock, which does not sleep"),
          Map.entry(
              "expiry pushed back by failed attempts",
              "there is always a pause between attempts that is long enough"));

  @TestFactory
  Stream<DynamicTest> everyMutantIsFound() {
    Predicate<String> isSelected =
        Pattern.compile(System.getProperty("interlock.specimens.only", "")).asPredicate();
    return MemorySpecimens.all().stream()
        .filter(mutant -> !NOT_FOUND.containsKey(mutant.name()))
        .filter(mutant -> !mutant.name().startsWith("listing ")) // worlds do not list locks
        .filter(mutant -> isSelected.test(mutant.name()))
        .map(
            mutant ->
                DynamicTest.dynamicTest(
                    mutant.name(),
                    () -> {
                      Sample.require(
                          sample -> sample.draw(mutant.name()) % SAMPLE_ONE_MUTANT_IN == 0);
                      find(mutant);
                    }));
  }

  @Test
  void theReferenceItselfIsWell() {
    Long repeated = Long.getLong("interlock.seed");
    LongStream seeds =
        repeated == null
            ? LongStream.rangeClosed(1, 60)
                .filter(
                    seed ->
                        Sample.runs(
                            sample -> sample.draw("seed " + seed) % SAMPLE_ONE_WORLD_IN == 0))
            : LongStream.of(repeated);
    for (long seed : seeds.toArray()) {
      World.ClientOpener opener = Simulation.onMemory(seed);
      Plan plan = Plan.of(seed, Plan.Store.MEMORY);
      Failure failure = World.run(plan, opener, false).failure();
      if (failure != null) {
        fail(Simulation.report(plan, failure, opener));
      }
    }
  }

  private static void find(Specimen mutant) throws Exception {
    for (long seed = 1; seed <= MAX_WORLDS; seed++) {
      Failure failure = failure(mutant, seed);
      if (failure != null) {
        assertNotEquals("hang", failure.rule(), "it waits by a clock outside of the world");
        System.out.println(
            mutant.name() + " | " + seed + " | " + failure.toString().split("\n", 2)[0]);
        return;
      }
    }
    fail("not found in " + MAX_WORLDS + " worlds");
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
