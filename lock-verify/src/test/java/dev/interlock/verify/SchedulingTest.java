package dev.interlock.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SchedulingTest {
  private static final MavenModule A = new MavenModule("a", Path.of("a"), "");
  private static final MavenModule B = new MavenModule("b", Path.of("b"), "");

  @Test
  void slowAndUnknownSuitesAreAloneAndTheSlowestComesFirst() throws Exception {
    Suite slow = suite(A, "x.SlowTest", 40, true);
    Suite unknown = suite(A, "x.NewTest", 10, false);
    Suite quick = suite(A, "x.QuickTest", 1, true);
    Suite quicker = suite(A, "x.QuickerTest", 1, true);
    Suite other = suite(B, "y.QuickTest", 1, true);
    assertEquals(
        List.of(List.of(slow), List.of(unknown), List.of(quick, quicker), List.of(other)),
        Batches.of(List.of(quick, unknown, other, slow, quicker)));
  }

  @Test
  void repetitionsOfASuiteDoNotShareAJvm() {
    Suite quick = suite(A, "x.QuickTest", 1, true);
    Suite quicker = suite(A, "x.QuickerTest", 1, true);
    assertEquals(
        List.of(List.of(quick, quicker), List.of(quick, quicker)),
        Batches.of(List.of(quick, quicker, quick, quicker)));
  }

  @Test
  void timesAreReadAsTheyAreWritten(@TempDir Path directory) throws Exception {
    Path file = Files.writeString(directory.resolve("times"), "# a comment\na KitTest 50\n");
    SuiteTimes times = SuiteTimes.read(file);
    Suite kit = times.suite(A, "x.KitTest");
    assertEquals(new Suite(A, "x.KitTest", Duration.ofSeconds(50), true), kit);
    took(times, kit, Duration.ofMillis(40_400));
    took(times, times.suite(A, "x.NewTest"), Duration.ofMillis(1));
    Path written = directory.resolve("new/times");
    times.write(written);
    assertEquals(
        List.of(SuiteTimes.HEADER, "a KitTest 40", "a NewTest 1"), Files.readAllLines(written));
    assertEquals(suite(B, "x.KitTest", 10, false), SuiteTimes.read(written).suite(B, "x.KitTest"));
  }

  private static void took(SuiteTimes times, Suite suite, Duration time) {
    times.took(new SuiteResult(suite, time, Duration.ZERO, List.of()));
  }

  private static Suite suite(MavenModule module, String name, int seconds, boolean known) {
    return new Suite(module, name, Duration.ofSeconds(seconds), known);
  }
}
