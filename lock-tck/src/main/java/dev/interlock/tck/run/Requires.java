package dev.interlock.tck.run;

import dev.interlock.Capability;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Restricts a test to backends that declare a capability, or to those that do not. On a class it
 * applies to the tests without such an annotation. Every rule that requires a capability has tests
 * of both kinds, so that a backend cannot avoid tests by declaring less.
 */
@Documented
@Inherited
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
public @interface Requires {
  /** {@return the capability} */
  Capability value();

  /** {@return whether the test is for backends <em>without</em> the capability} */
  boolean absent() default false;
}
