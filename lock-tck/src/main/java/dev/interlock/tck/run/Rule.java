package dev.interlock.tck.run;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Test;

/**
 * Declares a method as a test of some rules of the {@linkplain Contract contract}. A backend keeps
 * a rule if all tests of the rule pass.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Test
public @interface Rule {
  /**
   * {@return the rules' identifiers, such as {@code EXCL-01}; at least one} If several sections
   * inherit a test, it tests in each only the rules of that {@link Section}.
   */
  String[] value();
}
