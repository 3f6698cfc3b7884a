package dev.interlock.tck.report;

import dev.interlock.tck.report.TestResult.Status;
import dev.interlock.tck.run.ContractRule;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The results of the tests of one rule.
 *
 * @param rule the rule
 * @param tests the tests of the rule, in the order in which they ended
 */
public record RuleResult(ContractRule rule, List<TestResult> tests) {
  /** The first words of each reason that a more capable harness would remove. */
  private static final String HARNESS = "the harness ";

  /** The outcome of a rule after a run. */
  public enum Outcome {
    /** All applicable tests passed. */
    PASSED("passed"),
    /** At least one test failed. */
    FAILED("FAILED"),
    /** No test failed, but for some the machine was too slow. */
    NO_VERDICT("no verdict"),
    /** No test failed, but some could not run. */
    PARTLY_TESTED("partly tested"),
    /** No test could run. */
    NOT_TESTED("not tested"),
    /** The adapted lock does not have the operations that the tests call. */
    NOT_OFFERED("not offered"),
    /** The backend does not have the feature that the rule is about. */
    NOT_APPLICABLE("does not apply");

    private final String words;

    Outcome(String words) {
      this.words = words;
    }

    /** {@return the outcome as reports show it} */
    public String words() {
      return words;
    }
  }

  /** {@return the outcome of the rule; it is passed only if a test ran} */
  public Outcome outcome() {
    if (any(Status.FAILED)) {
      return Outcome.FAILED;
    }
    if (any(Status.NO_VERDICT)) {
      return Outcome.NO_VERDICT;
    }
    if (any(Status.PASSED)) {
      return any(Status.NOT_TESTED) || any(Status.NOT_OFFERED)
          ? Outcome.PARTLY_TESTED
          : Outcome.PASSED;
    }
    if (any(Status.NOT_OFFERED) && !any(Status.NOT_TESTED)) {
      return Outcome.NOT_OFFERED;
    }
    return any(Status.NOT_APPLICABLE) && !any(Status.NOT_TESTED)
        ? Outcome.NOT_APPLICABLE
        : Outcome.NOT_TESTED;
  }

  /** {@return whether the rule would have been tested in full with a more capable harness} */
  boolean lacksOnlyTheHarness() {
    return !tests.isEmpty()
        && tests.stream()
            .allMatch(
                test ->
                    switch (test.status()) {
                      case PASSED, NOT_APPLICABLE -> true;
                      case NOT_TESTED -> String.valueOf(test.reason()).startsWith(HARNESS);
                      case FAILED, NO_VERDICT, NOT_OFFERED -> false;
                    });
  }

  private boolean any(Status status) {
    return tests.stream().anyMatch(test -> test.status() == status);
  }

  /** {@return the reason of an outcome other than passed, in one line; empty for passed} */
  public String reason() {
    Set<Status> explained =
        switch (outcome()) {
          case PASSED -> Set.of(Status.PASSED);
          case FAILED -> Set.of(Status.FAILED);
          case NO_VERDICT -> Set.of(Status.NO_VERDICT);
          case PARTLY_TESTED, NOT_TESTED -> Set.of(Status.NOT_TESTED, Status.NOT_OFFERED);
          case NOT_OFFERED -> Set.of(Status.NOT_OFFERED);
          case NOT_APPLICABLE -> Set.of(Status.NOT_APPLICABLE);
        };
    if (tests.isEmpty()) {
      return "no test of it was run";
    }
    return tests.stream()
        .filter(test -> explained.contains(test.status()) && test.reason() != null)
        .map(test -> firstLine(test.reason()))
        .distinct()
        .collect(Collectors.joining("; "));
  }

  private static String firstLine(String text) {
    int end = text.indexOf('\n');
    return end < 0 ? text.strip() : text.substring(0, end).strip();
  }
}
