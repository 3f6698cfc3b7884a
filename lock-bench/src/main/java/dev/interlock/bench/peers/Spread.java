package dev.interlock.bench.peers;

import dev.interlock.compare.Rounds;
import dev.interlock.report.Unit;
import java.util.List;

/**
 * Several rounds in three numbers.
 *
 * @param median the middle one; of two middle ones their mean
 * @param lowest the lowest
 * @param highest the highest
 */
record Spread(double median, double lowest, double highest) {

  /**
   * Looks at rounds.
   *
   * @throws IllegalArgumentException if there are none
   */
  static Spread of(List<Double> rounds) {
    if (rounds.isEmpty()) {
      throw new IllegalArgumentException("there must be a round");
    }
    return new Spread(
        Rounds.median(rounds),
        rounds.stream().mapToDouble(Double::doubleValue).min().orElseThrow(),
        rounds.stream().mapToDouble(Double::doubleValue).max().orElseThrow());
  }

  String format(Unit unit) {
    return unit.format(median) + " (" + unit.format(lowest) + " to " + unit.format(highest) + ")";
  }
}
