package dev.interlock.tck.run;

import java.lang.reflect.Method;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads the annotations of tests. */
public final class RuleTests {
  private RuleTests() {}

  /**
   * {@return the identifiers of the rules that a test checks}
   *
   * @param section the class that has or inherits the test
   * @param test the test
   */
  public static List<String> rulesOf(Class<?> section, Method test) {
    Rule rule = test.getAnnotation(Rule.class);
    Section own = section.getAnnotation(Section.class);
    boolean inherited = !test.getDeclaringClass().isAnnotationPresent(Section.class);
    String prefix = own != null && inherited ? own.value() : "";
    return rule == null
        ? List.of()
        : Stream.of(rule.value()).filter(id -> id.startsWith(prefix)).toList();
  }

  /**
   * {@return the capability that a test requires or excludes; null if it always applies}
   *
   * @param section the class that has or inherits the test
   * @param test the test
   */
  public static @Nullable Requires requirementOf(Class<?> section, Method test) {
    Requires own = test.getAnnotation(Requires.class);
    return own == null ? section.getAnnotation(Requires.class) : own;
  }
}
