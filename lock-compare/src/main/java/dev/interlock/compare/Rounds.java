package dev.interlock.compare;

import java.util.Arrays;
import java.util.List;

/** What is made of the numbers that several rounds gave. */
public final class Rounds {
  private Rounds() {}

  /** The middle one; of two middle ones their mean; not a number if there are none. */
  public static double median(List<Double> values) {
    if (values.isEmpty()) {
      return Double.NaN;
    }
    double[] sorted = values.stream().mapToDouble(Double::doubleValue).toArray();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
}
