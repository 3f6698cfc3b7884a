package dev.interlock.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** Tests how numbers are displayed. */
class UnitTest {

  @Test
  void durationsAreShownInTheUnitThatFits() {
    assertEquals("850 ns", Unit.SECONDS.format(850e-9));
    assertEquals("3.96 µs", Unit.SECONDS.format(3.96e-6));
    assertEquals("87.9 ms", Unit.SECONDS.format(0.0879));
    assertEquals("2 s", Unit.SECONDS.format(2));
    assertEquals("-1.50 ms", Unit.SECONDS.format(-0.0015));
  }

  @Test
  void largeNumbersAreGrouped() {
    assertEquals("5662 /s", Unit.PER_SECOND.format(5662.4));
    assertEquals("149\u202f215 /s", Unit.PER_SECOND.format(149_215));
    assertEquals("10 k/s", Unit.PER_SECOND.formatForAxis(10_000));
  }

  @Test
  void wholeNumbersHaveNoDecimals() {
    assertEquals("10", Unit.COUNT.format(10));
    assertEquals("0", Unit.COUNT.format(0));
    assertEquals("0.84", Unit.COUNT.format(0.84));
    assertEquals("0.0012", Unit.COUNT.format(0.00123));
    assertEquals("-0.012", Unit.COUNT.format(-0.0123));
  }

  @Test
  void aMissingValueIsADash() {
    assertEquals("–", Unit.RATIO.format(Double.NaN));
  }
}
