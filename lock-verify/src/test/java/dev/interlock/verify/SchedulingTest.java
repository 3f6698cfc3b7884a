package dev.interlock.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
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
  void timesAreReadAsTheyAreWritten(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("new/times");
    SuiteTimes measured = new SuiteTimes();
    measured.took(
        new SuiteResult(
            suite(A, "x.OneTest", 0, 0, false),
            Duration.ofMillis(4_400),
            Duration.ofMillis(1_600),
            List.of()));
    measured.write(file);
    Files.writeString(file, "# a comment\n", StandardOpenOption.APPEND);
    SuiteTimes times = SuiteTimes.read(file);
    assertEquals(suite(A, "x.OneTest", 4, 2, true), times.suite(A, "x.OneTest"));
    assertEquals(suite(B, "x.OneTest", 10, 0, false), times.suite(B, "x.OneTest"));
  }

  @Test
  void aSuiteThatKeepsMoreThanAProcessorBusyForLongRunsAlone() {
    assertTrue(suite(A, "x.KitTest", 50, 62, true).runsAlone());
    assertFalse(suite(A, "x.BusyTest", 50, 50, true).runsAlone());
    assertFalse(suite(A, "x.BriefTest", 5, 8, true).runsAlone());
    assertFalse(suite(A, "x.NewTest", 10, 0, false).runsAlone());
  }

  private static Suite suite(
      MavenModule module, String name, int seconds, int cpuSeconds, boolean known) {
    return new Suite(
        module, name, Duration.ofSeconds(seconds), Duration.ofSeconds(cpuSeconds), known);
  }
}
