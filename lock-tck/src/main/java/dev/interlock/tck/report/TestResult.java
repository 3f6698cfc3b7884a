package dev.interlock.tck.report;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of one test.
 *
 * @param test class and method, such as {@code ExclusionRules.threadsNeverLoseAnIncrement}
 * @param title the display name
 * @param rules the identifiers of its rules
 * @param status the outcome
 * @param reason the reason, if the test did not pass
 * @param trace the stack trace of a failure
 * @param took the duration
 */
public record TestResult(
    String test,
    String title,
    List<String> rules,
    Status status,
    @Nullable String reason,
    @Nullable String trace,
    Duration took) {

  /** The outcome of a test. */
  public enum Status {
    /** The test passed. */
    PASSED,
    /** The test failed. */
    FAILED,
    /** The test failed, or the machine was too slow for it. */
    NO_VERDICT,
    /** The test could not run in this environment. */
    NOT_TESTED,
    /** The test called an operation that the adapted lock does not have. */
    NOT_OFFERED,
    /** The backend does not have the feature under test. */
    NOT_APPLICABLE
  }
}
