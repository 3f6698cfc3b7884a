package dev.interlock.tck.run;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Test;

/**
 * Makes a method a test of some rules of the {@linkplain Contract contract}. A backend keeps a rule
 * if all its tests pass.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Test
public @interface Rule {
  /**
   * {@return the rules' identifiers, such as {@code EXCL-01}; at least one} A test that several
   * sections inherit tests in each of them the rules of that {@link Section}.
   */
  String[] value();
}
