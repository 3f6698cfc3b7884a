package dev.interlock.verify;

import java.time.Duration;
import java.util.List;

/**
 * How a test ended.
 *
 * @param className the suite that it belongs to
 * @param method the name of its method; empty if what failed is the suite itself
 * @param title what it is called
 * @param reason why it failed or was skipped, in a line or a few; empty if it passed
 * @param trace the stack trace of a failure; else empty
 */
record TestResult(
    String className,
    String method,
    String title,
    Status status,
    Duration took,
    String reason,
    String trace) {

  enum Status {
    PASSED,
    FAILED,
    SKIPPED,
    /** The rule says nothing about this backend. */
    NOT_APPLICABLE
  }

  static TestResult ofSuite(String className, String reason) {
    return new TestResult(className, "", className, Status.FAILED, Duration.ZERO, reason, "");
  }

  boolean failed() {
    return status == Status.FAILED;
  }

  List<String> fields() {
    return List.of(
        className, method, title, status.name(), Long.toString(took.toMillis()), reason, trace);
  }

  static TestResult of(List<String> fields) {
    return new TestResult(
        fields.get(0),
        fields.get(1),
        fields.get(2),
        Status.valueOf(fields.get(3)),
        Duration.ofMillis(Long.parseLong(fields.get(4))),
        fields.get(5),
        fields.get(6));
  }
}
