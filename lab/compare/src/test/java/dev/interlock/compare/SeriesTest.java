package dev.interlock.compare;

import static dev.interlock.compare.Figure.HANDOFF_P50;
import static dev.interlock.compare.Figure.PAIRS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What is made of rounds. */
class SeriesTest {

  private static Series<String> pairs(String one, double[] ones, String other, double[] others) {
    Series<String> series = new Series<>("pairs");
    for (double each : ones) {
      series.add(one, Map.of(PAIRS, each));
    }
    for (double each : others) {
      series.add(other, Map.of(PAIRS, each));
    }
    return series;
  }

  @Test
  void aRatioIsTakenWithinEachRoundAndItsMedianAfterwards() {
    Series<String> series =
        pairs("ours", new double[] {10, 300, 2}, "baseline", new double[] {5, 100, 4});
    // The medians themselves are 10 and 5: not the same thing.
    assertEquals(new Spread(2, 0.5, 3), Spread.of(series.ratios(PAIRS, "ours", "baseline")));
    assertEquals(new Spread(5, -2, 200), Spread.of(series.differences(PAIRS, "ours", "baseline")));
  }

  @Test
  void theMedianOfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle() {
    assertEquals(new Spread(2, 1, 3), Spread.of(List.of(3.0, 1.0, 2.0)));
    assertEquals(new Spread(2.5, 1, 4), Spread.of(List.of(4.0, 1.0, 2.0, 3.0)));
  }

  @Test
  void noRoundsHaveNoMedian() {
    assertTrue(Double.isNaN(Spread.of(List.of()).median()));
  }

  @Test
  void aRoundInWhichOneDidNothingMakesNoRatio() {
    Series<String> series = pairs("ours", new double[] {10, 10}, "peer", new double[] {0, 5});
    assertEquals(List.of(2.0), series.ratios(PAIRS, "ours", "peer"));
  }

  @Test
  void aFigureThatARoundDidNotGiveLeavesThatRoundOut() {
    Series<String> series = new Series<>("contention");
    series.add("ours", Map.of(PAIRS, 4.0));
    series.add("ours", Map.of(PAIRS, 6.0, HANDOFF_P50, 0.5));
    series.add("peer", Map.of(PAIRS, 1.0, HANDOFF_P50, 7.0));
    series.add("peer", Map.of(PAIRS, 1.0, HANDOFF_P50, 2.0));
    assertEquals(List.of(4.0), series.ratios(HANDOFF_P50, "peer", "ours"));
    assertEquals(List.of(0.5), series.values("ours", HANDOFF_P50));
  }

  @Test
  void aContenderThatFailedIsNotMeasured() {
    Series<String> series = pairs("ours", new double[] {1}, "peer", new double[] {1});
    series.remove("peer");
    assertEquals(List.of(), series.ratios(PAIRS, "ours", "peer"));
    assertEquals(List.of(), series.values("peer", PAIRS));
    assertEquals(Optional.empty(), series.highest(PAIRS, "ours"));
  }

  @Test
  void theBestPeerIsTheOneWithTheHighestMedian() {
    Series<String> series = pairs("fair", new double[] {5, 5, 5}, "moody", new double[] {1, 90, 2});
    series.add("ours", Map.of(PAIRS, 1_000.0));
    assertEquals(Optional.of("fair"), series.highest(PAIRS, "ours"));
  }
}
