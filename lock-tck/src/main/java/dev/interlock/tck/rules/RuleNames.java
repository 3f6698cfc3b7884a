package dev.interlock.tck.rules;

import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.RuleTests;
import java.lang.reflect.Method;
import java.util.List;
import org.junit.jupiter.api.DisplayNameGenerator;

/** Puts the identifiers of a test's rules in front of its name. */
final class RuleNames extends DisplayNameGenerator.Simple {

  @Override
  public String generateDisplayNameForMethod(
      List<Class<?>> enclosingTypes, Class<?> testClass, Method testMethod) {
    String ids = String.join(" ", RuleTests.rulesOf(testClass, testMethod)) + " ";
    Requires requires = RuleTests.requirementOf(testClass, testMethod);
    String twin =
        requires != null && requires.absent() ? "(without " + requires.value() + ") " : "";
    return ids + twin + words(testMethod.getName());
  }

  private static String words(String camelCase) {
    return camelCase.replaceAll("([A-Z])", " $1").toLowerCase(java.util.Locale.ROOT);
  }
}
