package dev.interlock.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Tests which figures are shown. */
class ResultsTest {
  private final Results results = new Results();

  private Optional<Double> shown(Double... rounds) {
    Point at = new Point("threads", 100);
    results.addRatio("many-locks", "redis", ManyLocks.RATIO, at, List.of(rounds));
    return results.find("many-locks", "redis", ManyLocks.RATIO, at).map(Results.Measurement::value);
  }

  @Test
  void aRatioWhoseRoundsAgreeIsShown() {
    assertEquals(Optional.of(0.7), shown(0.7, 0.65, 0.8));
    assertEquals(List.of(), results.gaps());
  }

  @Test
  void oneRoundInFiveMayBeOff() {
    assertEquals(Optional.of(0.7), shown(0.7, 9.0, 0.65, 0.8, 0.7));
  }

  @Test
  void aRatioWhoseRoundsDisagreeIsNotShownAndTheReportSaysWhy() {
    assertEquals(Optional.empty(), shown(9.0, 2.0, 0.7));
    assertEquals(
        List.of(
            new Results.Gap(
                "many-locks",
                "redis",
                Results.Reason.UNCERTAIN,
                "cycles / baseline (threads: 100) is not shown, because the rounds differ:"
                    + " 9 ×, 2 ×, 0.70 ×")),
        results.gaps());
    assertFalse(results.anythingFailed());
  }

  @Test
  void aRatioOfTooFewRoundsIsNotShown() {
    assertEquals(Optional.empty(), shown(0.7, 0.7));
    assertEquals(1, results.gaps().size());
  }

  @Test
  void aRatioWithoutRoundsIsNotReportedAsUncertain() {
    assertEquals(Optional.empty(), shown());
    assertEquals(List.of(), results.gaps());
  }

  @Test
  void aHeapThatShrankOrHardlyGrewGivesNoFigure() {
    assertFalse(HeldLeases.standsOut(-5_561_000, 0));
    assertFalse(HeldLeases.standsOut(2_000_000, 1_000_000));
    assertTrue(HeldLeases.standsOut(2_000_000, 100_000));
  }
}
