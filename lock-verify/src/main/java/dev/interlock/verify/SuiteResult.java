package dev.interlock.verify;

import dev.interlock.verify.TestResult.Status;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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
    return Stream.of(Status.values())
        .filter(status -> status == Status.PASSED || count(status) > 0)
        .map(status -> count(status) + " " + status.label)
        .collect(Collectors.joining(", "));
  }
}
