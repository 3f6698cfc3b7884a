package dev.interlock.tck.sample;

import java.lang.reflect.Method;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Runs one in five tests of a slow class, as drawn by the {@link Sample}. */
public final class SomeTests implements ExecutionCondition {
  private static final int ONE_IN = 5;

  /** Creates an extension for one class, to be registered in a static field. */
  public SomeTests() {}

  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    Class<?> tests = context.getRequiredTestClass();
    return context.getTestMethod().map(test -> isIncluded(tests, test)).orElse(true)
        ? ConditionEvaluationResult.enabled(null)
        : ConditionEvaluationResult.disabled(Sample.NOT_INCLUDED);
  }

  private static boolean isIncluded(Class<?> tests, Method test) {
    String key = tests.getName() + '#' + test.getName();
    return Sample.runs(sample -> sample.draw(key) % ONE_IN == 0);
  }
}
