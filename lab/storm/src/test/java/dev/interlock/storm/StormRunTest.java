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

/** Single storms; {@code StormsTest} of lock-cli has those over all backends. */
class StormRunTest {
  private static final Duration UNREACHED_DURATION = Duration.ofMinutes(10);

  @TempDir private Path folder;

  /** A storm begins when every client has acquired a lease. */
  @Test
  void aStormThatIsStoppedEndsWithAVerdict() throws Exception {
    List<String> reported = new ArrayList<>();
    AtomicBoolean begun = new AtomicBoolean();
    StormResult result =
        StormRun.run(
            new StormSettings(
                "redis",
                new StormSettings.DisposableStore(() -> Testbed.redis().start()),
                null,
                UNREACHED_DURATION,
                7,
                true,
                1,
                2,
                folder,
                begun::get,
                line -> {
                  reported.add(line);
                  if (line.startsWith("the storm begins")) {
                    begun.set(true);
                  }
                }));
    assertEquals(List.of(), result.findings());
    assertTrue(
        result.lasted().compareTo(UNREACHED_DURATION) < 0,
        () -> "the storm lasted " + result.lasted());
    assertEquals(List.of("client-1", "client-2"), result.clients());
    assertTrue(result.operations().grants() > 0, () -> "no lease: " + result.operations());
    assertEquals(result.leases().size(), result.operations().grants());
    assertTrue(
        result.faults().stream().anyMatch(fault -> fault.target().equals("client-with-many")),
        () -> "no client held many locks: " + result.faults());
    assertEquals(0, result.writes().guardedLost());
    assertEquals(0, result.overlapsOutside());
    assertTrue(
        reported.get(reported.size() - 1).equals("no violation"), () -> "progress: " + reported);
  }

  /** The memory backend has no network, servers or processes that faults could hit. */
  @Test
  void theSeedDeterminesThePlan() throws Exception {
    assertEquals(plan(3), plan(3));
  }

  private Plan plan(long seed) throws Exception {
    return StormRun.run(
            new StormSettings(
                "memory",
                new StormSettings.RunningStore("memory:plan"),
                null,
                UNREACHED_DURATION,
                seed,
                true,
                1,
                1,
                folder,
                () -> true,
                line -> {}))
        .plan();
  }
}
