package dev.interlock.compare;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** A logarithmic axis, from one round number to another. */
final class Scale {
  private static final int MOST_TICKS = 7;
  private static final double[] FINE = {1, 2, 5};
  private static final double[] COARSE = {1};

  private final double low;
  private final double high;
  private final double[] digits;

  private Scale(double low, double high, double[] digits) {
    this.low = low;
    this.high = high;
    this.digits = digits;
  }

  /** The narrowest axis that holds all the values, which are positive. */
  static Scale around(Collection<Double> values) {
    double least = values.stream().mapToDouble(Double::doubleValue).min().orElse(1);
    double most = values.stream().mapToDouble(Double::doubleValue).max().orElse(10);
    double[] digits = Math.log10(most / least) < 2 ? FINE : COARSE;
    double low = least;
    double high = most;
    for (int power = -12; power <= 15; power++) {
      for (double digit : digits) {
        double tick = tick(digit, power);
        if (tick <= least * 1.000001) {
          low = tick;
        }
      }
    }
    search:
    for (int power = -12; power <= 15; power++) {
      for (double digit : digits) {
        double tick = tick(digit, power);
        if (tick >= most * 0.999999 && tick > low) {
          high = tick;
          break search;
        }
      }
    }
    return new Scale(low, high, digits);
  }

  private static double tick(double digit, int power) {
    return Double.parseDouble((int) digit + "e" + power);
  }

  /** Where on the axis a value is, from 0 to 1. */
  double place(double value) {
    return Math.log(value / low) / Math.log(high / low);
  }

  /** The round numbers to be written at the axis; not too many. */
  List<Double> ticks() {
    List<Double> ticks = new ArrayList<>();
    for (int power = -12; power <= 15; power++) {
      for (double digit : digits) {
        double tick = tick(digit, power);
        if (tick >= low * 0.999999 && tick <= high * 1.000001) {
          ticks.add(tick);
        }
      }
    }
    int step = (ticks.size() + MOST_TICKS - 1) / MOST_TICKS;
    List<Double> some = new ArrayList<>();
    for (int i = 0; i < ticks.size(); i += Math.max(1, step)) {
      some.add(ticks.get(i));
    }
    return some;
  }
}
