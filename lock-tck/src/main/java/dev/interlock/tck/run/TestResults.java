package dev.interlock.tck.run;

import dev.interlock.tck.report.TestResult;
import dev.interlock.tck.report.TestResult.Status;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.opentest4j.TestAbortedException;

/** Collects the results of the kit's tests as JUnit reports them. Thread-safe. */
class TestResults implements TestExecutionListener {
  private final Map<String, Long> started = new ConcurrentHashMap<>();
  private final List<TestResult> results = new ArrayList<>();

  @Override
  public void executionStarted(TestIdentifier test) {
    started.put(test.getUniqueId(), System.nanoTime());
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    Optional<MethodSource> source =
        test.getSource().filter(MethodSource.class::isInstance).map(MethodSource.class::cast);
    if (test.isTest() && source.isPresent()) {
      add(ofTest(test, source.get(), result));
    } else if (result.getStatus() == TestExecutionResult.Status.FAILED) {
      add(ofContainer(test, result));
    }
  }

  /** {@return the results so far} */
  synchronized List<TestResult> all() {
    return List.copyOf(results);
  }

  synchronized void add(TestResult result) {
    results.add(result);
  }

  private TestResult ofTest(TestIdentifier test, MethodSource source, TestExecutionResult result) {
    Throwable cause = result.getThrowable().map(BrokenRule::observed).orElse(null);
    Duration took =
        Duration.ofNanos(
            System.nanoTime() - started.getOrDefault(test.getUniqueId(), System.nanoTime()));
    return new TestResult(
        source.getJavaClass().getSuperclass().getSimpleName() + "." + source.getMethodName(),
        test.getDisplayName(),
        RuleTests.rulesOf(source.getJavaClass(), source.getJavaMethod()),
        status(result, cause),
        cause == null ? null : reason(cause),
        cause == null ? null : trace(cause),
        took);
  }

  /** Attributes a failure outside any test, such as in a clean-up, to every rule that ran. */
  private TestResult ofContainer(TestIdentifier container, TestExecutionResult result) {
    Throwable cause = result.getThrowable().map(BrokenRule::observed).orElse(null);
    List<String> rules = all().stream().flatMap(test -> test.rules().stream()).distinct().toList();
    return new TestResult(
        "LockTck." + container.getDisplayName(),
        container.getDisplayName(),
        rules,
        Status.FAILED,
        cause == null ? "failed" : reason(cause),
        cause == null ? null : trace(cause),
        Duration.ZERO);
  }

  private static Status status(TestExecutionResult result, @Nullable Throwable cause) {
    return switch (result.getStatus()) {
      case SUCCESSFUL -> Status.PASSED;
      case FAILED -> Status.FAILED;
      case ABORTED ->
          cause instanceof NoVerdictException
              ? Status.NO_VERDICT
              : cause instanceof NotApplicableException
                  ? Status.NOT_APPLICABLE
                  : cause instanceof NotOfferedException ? Status.NOT_OFFERED : Status.NOT_TESTED;
    };
  }

  static String reason(Throwable cause) {
    String message = cause.getMessage();
    if (cause instanceof AssertionError || cause instanceof TestAbortedException) {
      return message == null ? cause.toString() : message;
    }
    return cause.toString();
  }

  private static String trace(Throwable cause) {
    StringWriter text = new StringWriter();
    cause.printStackTrace(new PrintWriter(text, true));
    return text.toString();
  }
}
