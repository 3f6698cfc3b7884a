package dev.interlock.compare;

import dev.interlock.report.Unit;
import java.util.List;

/**
 * The median and range of the values of several rounds.
 *
 * @param median the median; NaN if there are no values
 * @param lowest the lowest value
 * @param highest the highest value
 */
public record Spread(double median, double lowest, double highest) {

  /** {@return the spread of the values of several rounds} */
  public static Spread of(List<Double> rounds) {
    double[] sorted = rounds.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    int count = sorted.length;
    return count == 0
        ? new Spread(Double.NaN, Double.NaN, Double.NaN)
        : new Spread(
            (sorted[(count - 1) / 2] + sorted[count / 2]) / 2, sorted[0], sorted[count - 1]);
  }

  /** {@return the median and, in parentheses, the range} */
  public String format(Unit unit) {
    return unit.format(median) + " (" + unit.format(lowest) + " to " + unit.format(highest) + ")";
  }
}
