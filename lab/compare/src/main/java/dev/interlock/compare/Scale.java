package dev.interlock.compare;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A logarithmic axis between two round numbers.
 *
 * @param ticks the round numbers to show at the axis, in ascending order
 */
record Scale(double low, double high, List<Double> ticks) {
  private static final int MAX_TICKS = 7;
  private static final int[] FINE_STEPS = {1, 2, 5};
  private static final int[] COARSE_STEPS = {1};

  /** {@return the narrowest axis that contains all values, which must be positive} */
  static Scale around(Collection<Double> values) {
    double min = values.stream().mapToDouble(Double::doubleValue).min().orElse(1);
    double max = values.stream().mapToDouble(Double::doubleValue).max().orElse(10);
    List<Double> round = new ArrayList<>();
    for (int power = -12; power <= 15; power++) {
      for (int digit : Math.log10(max / min) < 2 ? FINE_STEPS : COARSE_STEPS) {
        round.add(Double.parseDouble(digit + "e" + power));
      }
    }
    int first = 0;
    while (round.get(first + 1) <= min * 1.000001) {
      first++;
    }
    int last = first + 1;
    while (last < round.size() - 1 && round.get(last) < max * 0.999999) {
      last++;
    }
    List<Double> candidates = round.subList(first, last + 1);
    int step = (candidates.size() + MAX_TICKS - 1) / MAX_TICKS;
    return new Scale(
        candidates.get(0),
        candidates.get(candidates.size() - 1),
        IntStream.range(0, candidates.size())
            .filter(i -> i % step == 0)
            .mapToObj(candidates::get)
            .toList());
  }

  /** {@return the position of a value on the axis, from 0 to 1} */
  double position(double value) {
    return Math.log(value / low) / Math.log(high / low);
  }
}
