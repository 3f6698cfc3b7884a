package dev.interlock.tck.report;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How one test ended.
 *
 * @param test class and method, such as {@code ExclusionRules.threadsNeverLoseAnIncrement}
 * @param title the name for people
 * @param rules the rules that it tests
 * @param status how it ended
 * @param reason why, if it did not pass
 * @param trace the stack trace of a failure
 * @param took how long it took
 */
public record TestResult(
    String test,
    String title,
    List<String> rules,
    Status status,
    @Nullable String reason,
    @Nullable String trace,
    Duration took) {

  /** How a test can end. */
  public enum Status {
    /** The test passed. */
    PASSED,
    /** The test failed. */
    FAILED,
    /** The test lacks something that it needs. */
    NOT_TESTED,
    /** The test called an operation that the adapted lock does not have. */
    NOT_OFFERED,
    /** The backend does not have the feature under test. */
    NOT_APPLICABLE
  }
}
