package dev.interlock.bench.peers;

import static dev.interlock.bench.peers.Figure.HAND_OVER_P50;
import static dev.interlock.bench.peers.Figure.PAIRS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/** What is made of rounds. */
class SeriesTest {

  private static Series pairs(String one, double[] ones, String other, double[] others) {
    Series series = new Series("pairs");
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
    Series series = pairs("ours", new double[] {10, 300, 2}, "floor", new double[] {5, 100, 4});
    // The medians themselves are 10 and 5: not the same thing.
    assertEquals(Optional.of(new Spread(2, 0.5, 3)), series.ratio(PAIRS, "ours", "floor"));
    assertEquals(Optional.of(new Spread(5, -2, 200)), series.difference(PAIRS, "ours", "floor"));
  }

  @Test
  void ofTwoRoundsTheMeanIsInTheMiddle() {
    assertEquals(new Spread(2.5, 1, 4), Spread.of(List.of(4.0, 1.0)));
  }

  @Test
  void noRoundsHaveNoMiddle() {
    assertThrows(IllegalArgumentException.class, () -> Spread.of(List.of()));
  }

  @Test
  void aRoundInWhichOneDidNothingMakesNoRatio() {
    Series series = pairs("ours", new double[] {10, 10}, "peer", new double[] {0, 5});
    assertEquals(Optional.of(new Spread(2, 2, 2)), series.ratio(PAIRS, "ours", "peer"));
  }

  @Test
  void aFigureThatARoundDidNotGiveLeavesThatRoundOut() {
    Series series = new Series("contest");
    series.add("ours", Map.of(PAIRS, 4.0));
    series.add("ours", Map.of(PAIRS, 6.0, HAND_OVER_P50, 0.5));
    series.add("peer", Map.of(PAIRS, 1.0, HAND_OVER_P50, 7.0));
    series.add("peer", Map.of(PAIRS, 1.0, HAND_OVER_P50, 2.0));
    assertEquals(Optional.of(new Spread(4, 4, 4)), series.ratio(HAND_OVER_P50, "peer", "ours"));
    assertEquals(OptionalDouble.of(0.5), series.median("ours", HAND_OVER_P50));
  }

  @Test
  void whoFailedIsNotMeasured() {
    Series series = pairs("ours", new double[] {1}, "peer", new double[] {1});
    series.remove("peer");
    assertEquals(Optional.empty(), series.ratio(PAIRS, "ours", "peer"));
    assertEquals(OptionalDouble.empty(), series.median("peer", PAIRS));
    assertEquals(Optional.empty(), series.highest(PAIRS, "ours"));
  }

  @Test
  void theBestPeerIsTheOneWithTheHighestMedian() {
    Series series = pairs("fair", new double[] {5, 5, 5}, "moody", new double[] {1, 90, 2});
    series.add("ours", Map.of(PAIRS, 1_000.0));
    assertEquals(Optional.of("fair"), series.highest(PAIRS, "ours"));
  }
}
