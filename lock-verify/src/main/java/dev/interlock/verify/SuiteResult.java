package dev.interlock.verify;

import dev.interlock.verify.TestResult.Status;
import java.time.Duration;
import java.util.List;

/**
 * The result of a suite.
 *
 * @param cpuTime the processor time it used; zero if unknown
 */
record SuiteResult(Suite suite, Duration took, Duration cpuTime, List<TestResult> tests) {
  SuiteResult {
    tests = List.copyOf(tests);
  }

  long count(Status status) {
    return tests.stream().filter(test -> test.status() == status).count();
  }

  boolean failed() {
    return count(Status.FAILED) > 0;
  }

  /** How many tests ended in which way; what did not occur is left out, but for passed. */
  String summary() {
    StringBuilder summary = new StringBuilder(count(Status.PASSED) + " passed");
    append(summary, count(Status.FAILED), "FAILED");
    append(summary, count(Status.SKIPPED), "skipped");
    append(summary, count(Status.NOT_APPLICABLE), "not applicable");
    return summary.toString();
  }

  private static void append(StringBuilder summary, long count, String what) {
    if (count > 0) {
      summary.append(", ").append(count).append(' ').append(what);
    }
  }
}
