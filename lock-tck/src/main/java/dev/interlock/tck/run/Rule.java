package dev.interlock.tck.run;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Names the rules of the {@linkplain Contract contract} that a test tests. A backend keeps a rule
 * if all its tests pass.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface Rule {
  /** {@return the rules' identifiers, such as {@code EXCL-01}; at least one} */
  String[] value();
}
