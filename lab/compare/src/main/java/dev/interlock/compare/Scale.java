package dev.interlock.compare;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A logarithmic axis, from one round number to another.
 *
 * @param ticks round numbers to be written at the axis, in ascending order
 */
record Scale(double low, double high, List<Double> ticks) {
  private static final int MOST_TICKS = 7;
  private static final int[] FINE = {1, 2, 5};
  private static final int[] COARSE = {1};

  /** The narrowest axis that holds all the values, which are positive. */
  static Scale around(Collection<Double> values) {
    double least = values.stream().mapToDouble(Double::doubleValue).min().orElse(1);
    double most = values.stream().mapToDouble(Double::doubleValue).max().orElse(10);
    List<Double> round = new ArrayList<>();
    for (int power = -12; power <= 15; power++) {
      for (int digit : Math.log10(most / least) < 2 ? FINE : COARSE) {
        round.add(Double.parseDouble(digit + "e" + power));
      }
    }
    int first = 0;
    while (round.get(first + 1) <= least * 1.000001) {
      first++;
    }
    int last = first + 1;
    while (last < round.size() - 1 && round.get(last) < most * 0.999999) {
      last++;
    }
    List<Double> between = round.subList(first, last + 1);
    int step = (between.size() + MOST_TICKS - 1) / MOST_TICKS;
    return new Scale(
        between.get(0),
        between.get(between.size() - 1),
        IntStream.range(0, between.size())
            .filter(i -> i % step == 0)
            .mapToObj(between::get)
            .toList());
  }

  /** Where on the axis a value is, from 0 to 1. */
  double place(double value) {
    return Math.log(value / low) / Math.log(high / low);
  }
}
