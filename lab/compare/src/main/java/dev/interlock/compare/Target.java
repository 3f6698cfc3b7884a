package dev.interlock.compare;

import dev.interlock.report.Unit;

/**
 * A bound for a measured value.
 *
 * @param atLeast whether the value must be at least, rather than at most, the bound
 * @param bound the bound, which itself meets the target
 * @param unit the unit of the bound
 */
record Target(boolean atLeast, double bound, Unit unit) {

  static Target atMost(double bound) {
    return atMost(bound, Unit.RATIO);
  }

  static Target atMost(double bound, Unit unit) {
    return new Target(false, bound, unit);
  }

  static Target atLeast(double bound) {
    return atLeast(bound, Unit.RATIO);
  }

  static Target atLeast(double bound, Unit unit) {
    return new Target(true, bound, unit);
  }

  boolean isMetBy(double measured) {
    return atLeast ? measured >= bound : measured <= bound;
  }

  String format() {
    return (atLeast ? "≥ " : "≤ ") + unit.format(bound);
  }
}
