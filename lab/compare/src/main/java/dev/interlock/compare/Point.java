package dev.interlock.compare;

import dev.interlock.report.Unit;

/**
 * Under which circumstances something was measured.
 *
 * @param dimension what was varied, such as {@code threads}
 * @param value its value
 */
record Point(String dimension, double value) {

  /** For people: {@code 10 threads}. */
  String label() {
    return number() + " " + dimension;
  }

  String number() {
    return Unit.COUNT.format(value);
  }
}
