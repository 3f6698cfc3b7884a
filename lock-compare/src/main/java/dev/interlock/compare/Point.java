package dev.interlock.compare;

import dev.interlock.report.Unit;

/**
 * Under which circumstances something was measured.
 *
 * @param dimension what was varied, such as {@code threads}; empty if nothing was
 * @param value its value
 */
record Point(String dimension, double value) {
  static final Point ONLY = new Point("", 0);

  /** For people: {@code 10 threads}. */
  String label() {
    return dimension.isEmpty() ? "" : number() + " " + dimension;
  }

  String number() {
    return Unit.COUNT.format(value);
  }
}
