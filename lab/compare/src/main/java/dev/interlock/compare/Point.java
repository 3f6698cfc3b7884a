package dev.interlock.compare;

import dev.interlock.report.Unit;

/**
 * The value of the dimension that was varied for a measurement.
 *
 * @param dimension the name of the dimension, such as {@code threads}
 * @param value its value
 */
record Point(String dimension, double value) {

  /** {@return the value with its dimension, such as {@code 10 threads}} */
  String label() {
    return number() + " " + dimension;
  }

  String number() {
    return Unit.COUNT.format(value);
  }
}
