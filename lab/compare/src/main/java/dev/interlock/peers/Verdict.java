package dev.interlock.peers;

import dev.interlock.report.Json;
import dev.interlock.tck.report.RuleResult.Outcome;
import java.util.List;
import java.util.Objects;

/**
 * The verdict on a lock and a rule.
 *
 * @param cell the verdict
 * @param reason the reason; empty if the rule is kept
 */
record Verdict(Cell cell, String reason) {

  /** The verdicts, as the cells of the page show them. */
  enum Cell {
    KEPT("kept"),
    PARTLY("kept in part"),
    BROKEN("**broken**"),
    NO_VERDICT("no verdict"),
    NOT_OFFERED("not offered"),
    NOT_TESTED("not tested"),
    NOT_APPLICABLE("–");

    private final String words;

    Cell(String words) {
      this.words = words;
    }

    String words() {
      return words;
    }
  }

  /**
   * A verdict on some rules and locks that was decided by hand.
   *
   * @param verdict the verdict; {@code NO_VERDICT} applies only if a test failed
   * @param locks the {@linkplain PeerHarness#key() keys} of the locks, or {@code any}
   */
  record Known(Cell verdict, List<String> locks, List<String> rules, String reason) {
    /** All verdicts; the first one that applies counts. */
    static final List<Known> ALL = Json.read(Known.class, "verdicts.json");

    Known {
      Objects.requireNonNull(verdict, reason);
    }

    private boolean appliesTo(PeerHarness peer, String rule, Outcome outcome) {
      return (locks.contains(peer.key()) || locks.contains("any"))
          && rules.contains(rule)
          && (verdict != Cell.NO_VERDICT || outcome == Outcome.FAILED);
    }
  }

  /** {@return the verdict on a lock and a rule, given the result of the kit} */
  static Verdict of(PeerHarness peer, String rule, RunResult.RuleOutcome found) {
    if (Finding.ALL.stream().anyMatch(finding -> finding.isAbout(peer, rule))) {
      return new Verdict(Cell.BROKEN, found.reason());
    }
    return Known.ALL.stream()
        .filter(known -> known.appliesTo(peer, rule, found.outcome()))
        .findFirst()
        .map(known -> new Verdict(known.verdict, known.reason))
        .orElseGet(() -> byOutcome(found));
  }

  private static Verdict byOutcome(RunResult.RuleOutcome found) {
    return switch (found.outcome()) {
      case PASSED -> new Verdict(Cell.KEPT, "");
      case PARTLY_TESTED -> new Verdict(Cell.PARTLY, found.reason());
      case NOT_OFFERED -> new Verdict(Cell.NOT_OFFERED, found.reason());
      case NOT_TESTED -> new Verdict(Cell.NOT_TESTED, found.reason());
      case NOT_APPLICABLE -> new Verdict(Cell.NOT_APPLICABLE, found.reason());
      case FAILED -> new Verdict(Cell.NO_VERDICT, "not examined yet");
      case NO_VERDICT -> new Verdict(Cell.NO_VERDICT, found.reason());
    };
  }
}
