package dev.interlock.verify;

import java.time.Duration;
import java.util.List;

/**
 * How a test ended.
 *
 * @param method the name of its method; empty if what failed is the suite itself
 * @param title what it is called
 * @param reason why it failed or was skipped, in a line or a few; empty if it passed
 * @param trace the stack trace of a failure; else empty
 */
record TestResult(
    String method, String title, Status status, Duration took, String reason, String trace) {

  enum Status {
    PASSED("passed"),
    FAILED("FAILED"),
    SKIPPED("skipped"),
    /** The rule says nothing about this backend. */
    NOT_APPLICABLE("not applicable");

    final String label;

    Status(String label) {
      this.label = label;
    }
  }

  static TestResult ofSuite(String reason) {
    return new TestResult("", "the test class", Status.FAILED, Duration.ZERO, reason, "");
  }

  boolean failed() {
    return status == Status.FAILED;
  }

  List<String> fields() {
    return List.of(method, title, status.name(), Long.toString(took.toMillis()), reason, trace);
  }

  static TestResult of(List<String> fields) {
    return new TestResult(
        fields.get(0),
        fields.get(1),
        Status.valueOf(fields.get(2)),
        Duration.ofMillis(Long.parseLong(fields.get(3))),
        fields.get(4),
        fields.get(5));
  }
}
