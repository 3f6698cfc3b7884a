package dev.interlock.tck;

import dev.interlock.Capability;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Says that a test is about backends that declare a capability, or about those that do not. For
 * every rule that asks for a capability there is a test of either kind, so that nothing is left
 * untested by declaring less.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface Requires {
  /**
   * The capability.
   *
   * @return the capability
   */
  Capability value();

  /**
   * Whether the test is about backends <em>without</em> the capability.
   *
   * @return true if the capability must be absent
   */
  boolean absent() default false;
}
