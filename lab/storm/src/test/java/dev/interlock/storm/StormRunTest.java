package dev.interlock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.storm.nemesis.Plan;
import dev.interlock.storm.report.StormResult;
import dev.interlock.testbed.Testbed;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One storm at a time; those over all backends are in the command's StormsTest. */
class StormRunTest {
  private static final Duration LONG = Duration.ofMinutes(10);

  @TempDir private Path folder;

  /** Every client has acquired a lease when it begins. */
  @Test
  void aStormThatIsToldToStopEndsWithAVerdictOnWhatThereWas() throws Exception {
    List<String> reported = new ArrayList<>();
    AtomicBoolean begun = new AtomicBoolean();
    StormResult result =
        StormRun.run(
            new StormSettings(
                "redis",
                null,
                () -> Testbed.redis().start(),
                null,
                LONG,
                7,
                true,
                1,
                2,
                folder,
                begun::get,
                what -> {
                  reported.add(what);
                  if (what.startsWith("the storm begins")) {
                    begun.set(true);
                  }
                }));
    assertEquals(List.of(), result.findings());
    assertTrue(result.lasted().compareTo(LONG) < 0, () -> "it lasted " + result.lasted());
    assertEquals(List.of("client-1", "client-2"), result.clients());
    assertTrue(result.operations().grants() > 0, () -> "no lease: " + result.operations());
    assertEquals(result.leases().size(), result.operations().grants());
    assertTrue(
        result.faults().stream().anyMatch(fault -> fault.target().equals("client-with-many")),
        () -> "nobody held many: " + result.faults());
    assertEquals(0, result.writes().guardedLost());
    assertEquals(0, result.overlapsOutside());
    assertTrue(
        reported.get(reported.size() - 1).equals("no violation"), () -> "reported: " + reported);
  }

  /** Nothing can be done to the memory backend's network, servers or processes. */
  @Test
  void theSeedMakesThePlan() throws Exception {
    assertEquals(plan(3), plan(3));
  }

  private Plan plan(long seed) throws Exception {
    return StormRun.run(
            new StormSettings(
                "memory",
                "memory:plan",
                null,
                null,
                LONG,
                seed,
                true,
                1,
                1,
                folder,
                () -> true,
                what -> {}))
        .plan();
  }
}
