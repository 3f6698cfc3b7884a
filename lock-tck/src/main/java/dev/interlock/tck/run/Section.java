package dev.interlock.tck.run;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The section of the contract whose rules a class tests with the tests that it inherits. */
@Documented
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
public @interface Section {
  /** {@return the beginning of the rules' identifiers, such as {@code RW-}} */
  String value();
}
