package dev.interlock.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BatchesTest {
  private static final Module A = new Module("a", Path.of("a"), "");
  private static final Module B = new Module("b", Path.of("b"), "");

  @Test
  void slowAndUnknownSuitesAreAloneAndTheSlowestComesFirst() throws Exception {
    Suite slow = new Suite(A, "x.SlowTest", Duration.ofSeconds(40), true);
    Suite unknown = new Suite(A, "x.NewTest", Duration.ofSeconds(10), false);
    Suite quick = new Suite(A, "x.QuickTest", Duration.ofSeconds(1), true);
    Suite quicker = new Suite(A, "x.QuickerTest", Duration.ofSeconds(1), true);
    Suite other = new Suite(B, "y.QuickTest", Duration.ofSeconds(1), true);
    assertEquals(
        List.of(List.of(slow), List.of(unknown), List.of(quick, quicker), List.of(other)),
        Batches.of(List.of(quick, unknown, other, slow, quicker)));
  }

  @Test
  void timesOfTheLastRunCountForMore(@TempDir Path directory) throws Exception {
    Path committed =
        Files.writeString(directory.resolve("committed"), "a OneTest 30\na TwoTest 3\n");
    SuiteTimes last = new SuiteTimes();
    last.took(new Suite(A, "x.OneTest", Duration.ZERO, false), Duration.ofMillis(4_900));
    Path written = directory.resolve("new/last");
    last.write(written);
    SuiteTimes times = SuiteTimes.read(committed, written, directory.resolve("missing"));
    assertEquals(
        new Suite(A, "x.OneTest", Duration.ofSeconds(4), true), times.suite(A, "x.OneTest"));
    assertEquals(
        new Suite(A, "x.TwoTest", Duration.ofSeconds(3), true), times.suite(A, "x.TwoTest"));
    assertEquals(
        new Suite(B, "x.OneTest", Duration.ofSeconds(10), false), times.suite(B, "x.OneTest"));
  }
}
