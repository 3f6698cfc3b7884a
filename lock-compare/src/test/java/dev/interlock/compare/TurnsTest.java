package dev.interlock.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import dev.interlock.compare.Turns.Turn;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Handoffs, waits and fairness, from who held the lock when. */
class TurnsTest {

  @Test
  void allHavingEquallyManyTurnsIsPerfectlyFair() {
    assertEquals(1, Turns.jain(new long[] {7, 7, 7}), 1e-9);
  }

  @Test
  void oneHavingAllTurnsIsAsUnfairAsCanBe() {
    assertEquals(0.25, Turns.jain(new long[] {9, 0, 0, 0}), 1e-9);
  }

  @Test
  void nobodyHavingATurnIsNeither() {
    assertTrue(Double.isNaN(Turns.jain(new long[] {0, 0})));
  }

  @Test
  void onlyTheTimeThatWasAskedForCounts() {
    Turns turns =
        Turns.of(
            List.of(
                new Turn(0, 100, 101, 110),
                new Turn(1, 100, 115, 120),
                new Turn(0, 110, 126, 130),
                new Turn(1, 120, 205, 210)), // was still in line when the time was over
            100,
            200);
    assertEquals(3, turns.count());
    assertEquals(3 * 1e9 / 100, turns.perSecond(), 1e-6);
    assertEquals(2, turns.handoffs().getTotalCount());
    assertEquals(5, turns.handoffs().getMinValue());
    assertEquals(6, turns.handoffs().getMaxValue());
    assertEquals(85, turns.waits().getMaxValue());
    assertEquals(9.0 / 10, turns.fairness(2), 1e-9);
  }

  @Test
  void waitersOfSeveralProcessesAreToldApart() {
    Turns one = Turns.of(List.of(new Turn(0, 0, 10, 11), new Turn(0, 11, 30, 31)), 0, 100);
    Turns other = Turns.of(List.of(new Turn(0, 0, 20, 21), new Turn(0, 21, 95, 96)), 5, 90);
    Turns both = Turns.together(List.of(one, other));
    assertEquals(3, both.count()); // in the time that they have in common
    assertEquals(9, both.handoffs().getMinValue());
    assertEquals(9.0 / 10, both.fairness(2), 1e-9);
  }

  @Test
  void everyContenderIsServedAndWhatItDidCanBeReadByAnotherProcess(@TempDir Path directory)
      throws Exception {
    try (LockClient client = LockClient.open("memory:turns")) {
      Turns turns = Turns.contend(client, "hot", 3, Duration.ofMillis(50));
      Path file = directory.resolve("turns");
      turns.write(file);
      Turns read = Turns.read(file);
      assertEquals(turns.count(), read.count());
      assertEquals(turns.perSecond(), read.perSecond(), 1e-9);
      assertEquals(turns.waits().getTotalCount(), read.waits().getTotalCount());
    }
  }
}
