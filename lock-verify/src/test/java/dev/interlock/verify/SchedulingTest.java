package dev.interlock.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SchedulingTest {
  private static final MavenModule A = new MavenModule("a", Path.of("a"), "");
  private static final MavenModule B = new MavenModule("b", Path.of("b"), "");

  @Test
  void slowAndUnknownSuitesAreAloneAndTheSlowestComesFirst() throws Exception {
    Suite slow = suite(A, "x.SlowTest", 40, 0, true);
    Suite unknown = suite(A, "x.NewTest", 10, 0, false);
    Suite quick = suite(A, "x.QuickTest", 1, 0, true);
    Suite quicker = suite(A, "x.QuickerTest", 1, 0, true);
    Suite other = suite(B, "y.QuickTest", 1, 0, true);
    assertEquals(
        List.of(List.of(slow), List.of(unknown), List.of(quick, quicker), List.of(other)),
        Batches.of(List.of(quick, unknown, other, slow, quicker)));
  }

  @Test
  void timesOfTheLastRunCountForMore(@TempDir Path directory) throws Exception {
    Path committed =
        Files.writeString(directory.resolve("committed"), "a OneTest 30 3\na TwoTest 3 1\n");
    SuiteTimes last = new SuiteTimes();
    last.took(
        new SuiteResult(
            suite(A, "x.OneTest", 0, 0, false),
            Duration.ofMillis(4_400),
            Duration.ofMillis(1_600),
            List.of()));
    Path written = directory.resolve("new/last");
    last.write(written);
    SuiteTimes times = SuiteTimes.read(committed, written, directory.resolve("missing"));
    assertEquals(suite(A, "x.OneTest", 4, 2, true), times.suite(A, "x.OneTest"));
    assertEquals(suite(A, "x.TwoTest", 3, 1, true), times.suite(A, "x.TwoTest"));
    assertEquals(suite(B, "x.OneTest", 10, 0, false), times.suite(B, "x.OneTest"));
  }

  @Test
  void oneHeavySuiteRunsAtATimeAndLeavesLanesToOthers() throws Exception {
    List<Suite> first = List.of(suite(A, "x.FirstTest", 60, 70, true));
    List<Suite> second = List.of(suite(A, "x.SecondTest", 50, 45, true));
    List<Suite> idle = List.of(suite(A, "x.IdleTest", 40, 10, true));
    List<Suite> more = List.of(suite(B, "y.IdleTest", 30, 10, true));
    Lanes lanes = new Lanes(3, List.of(first, second, idle, more));
    assertEquals(Optional.of(first), lanes.take());
    assertEquals(Optional.of(idle), lanes.take());
    lanes.ended(idle);
    assertEquals(Optional.of(more), lanes.take());
    lanes.ended(first);
    assertEquals(Optional.of(second), lanes.take());
    assertEquals(Optional.empty(), lanes.take());
  }

  @Test
  void whereThereIsOneLaneEverythingRunsAllTheSame() throws Exception {
    List<Suite> heavy = List.of(suite(A, "x.HeavyTest", 60, 70, true));
    List<Suite> light = List.of(suite(A, "x.LightTest", 60, 1, true));
    Lanes lanes = new Lanes(1, List.of(light, heavy));
    assertEquals(Optional.of(light), lanes.take());
    lanes.ended(light);
    assertEquals(Optional.of(heavy), lanes.take());
  }

  private static Suite suite(
      MavenModule module, String name, int seconds, int cpuSeconds, boolean known) {
    return new Suite(
        module, name, Duration.ofSeconds(seconds), Duration.ofSeconds(cpuSeconds), known);
  }
}
