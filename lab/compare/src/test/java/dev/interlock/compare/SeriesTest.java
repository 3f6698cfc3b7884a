package dev.interlock.compare;

import static dev.interlock.compare.Figure.CYCLES;
import static dev.interlock.compare.Figure.HANDOFF_P50;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Tests the statistics over rounds. */
class SeriesTest {

  private static Series<String> cycles(String one, double[] ones, String other, double[] others) {
    Series<String> series = new Series<>("cycles");
    for (double each : ones) {
      series.add(one, Map.of(CYCLES, each));
    }
    for (double each : others) {
      series.add(other, Map.of(CYCLES, each));
    }
    return series;
  }

  @Test
  void aRatioIsTakenWithinEachRoundAndItsMedianAfterwards() {
    Series<String> series =
        cycles("ours", new double[] {10, 300, 2}, "baseline", new double[] {5, 100, 4});
    // These are not the ratio and the difference of the medians, 10 and 5.
    assertEquals(new Spread(2, 0.5, 3), Spread.of(series.ratios(CYCLES, "ours", "baseline")));
    assertEquals(new Spread(5, -2, 200), Spread.of(series.differences(CYCLES, "ours", "baseline")));
  }

  @Test
  void theMedianOfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle() {
    assertEquals(new Spread(2, 1, 3), Spread.of(List.of(3.0, 1.0, 2.0)));
    assertEquals(new Spread(2.5, 1, 4), Spread.of(List.of(4.0, 1.0, 2.0, 3.0)));
  }

  @Test
  void withoutRoundsThereIsNoMedian() {
    assertTrue(Double.isNaN(Spread.of(List.of()).median()));
  }

  @Test
  void aRoundWithAZeroGivesNoRatio() {
    Series<String> series = cycles("ours", new double[] {10, 10}, "peer", new double[] {0, 5});
    assertEquals(List.of(2.0), series.ratios(CYCLES, "ours", "peer"));
  }

  @Test
  void aRoundWithoutTheFigureIsLeftOut() {
    Series<String> series = new Series<>("contention");
    series.add("ours", Map.of(CYCLES, 4.0));
    series.add("ours", Map.of(CYCLES, 6.0, HANDOFF_P50, 0.5));
    series.add("peer", Map.of(CYCLES, 1.0, HANDOFF_P50, 7.0));
    series.add("peer", Map.of(CYCLES, 1.0, HANDOFF_P50, 2.0));
    assertEquals(List.of(4.0), series.ratios(HANDOFF_P50, "peer", "ours"));
    assertEquals(List.of(0.5), series.values("ours", HANDOFF_P50));
  }

  @Test
  void aContenderThatFailedIsNotMeasured() {
    Series<String> series = cycles("ours", new double[] {1}, "peer", new double[] {1});
    series.remove("peer");
    assertEquals(List.of(), series.ratios(CYCLES, "ours", "peer"));
    assertEquals(List.of(), series.values("peer", CYCLES));
    assertEquals(Optional.empty(), series.highest(CYCLES, "ours"));
  }

  @Test
  void theBestPeerIsTheOneWithTheHighestMedian() {
    Series<String> series =
        cycles("fair", new double[] {5, 5, 5}, "moody", new double[] {1, 90, 2});
    series.add("ours", Map.of(CYCLES, 1_000.0));
    assertEquals(Optional.of("fair"), series.highest(CYCLES, "ours"));
  }
}
