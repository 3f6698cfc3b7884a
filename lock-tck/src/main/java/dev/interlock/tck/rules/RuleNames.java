package dev.interlock.tck.rules;

import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import java.lang.reflect.Method;
import java.util.List;
import org.junit.jupiter.api.DisplayNameGenerator;

/** Puts the identifiers of a test's rules in front of its name. */
final class RuleNames extends DisplayNameGenerator.Simple {

  @Override
  public String generateDisplayNameForMethod(
      List<Class<?>> enclosingTypes, Class<?> testClass, Method testMethod) {
    Rule rule = testMethod.getAnnotation(Rule.class);
    Requires requires = testMethod.getAnnotation(Requires.class);
    String ids = rule == null ? "" : String.join(" ", rule.value()) + " ";
    String twin =
        requires != null && requires.absent() ? "(without " + requires.value() + ") " : "";
    return ids + twin + words(testMethod.getName());
  }

  private static String words(String camelCase) {
    return camelCase.replaceAll("([A-Z])", " $1").toLowerCase(java.util.Locale.ROOT);
  }
}
