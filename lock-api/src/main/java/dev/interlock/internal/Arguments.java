package dev.interlock.internal;

import com.google.errorprone.annotations.FormatMethod;
import com.google.errorprone.annotations.FormatString;
import org.jspecify.annotations.Nullable;

/** Checks the arguments that a program passes. */
public final class Arguments {

  private Arguments() {}

  /**
   * Checks a condition on an argument.
   *
   * @param isValid whether the argument is allowed
   * @param message why it is not allowed, a format for {@link String#format}
   * @param details the arguments of the format
   * @throws IllegalArgumentException if it is not allowed
   */
  @FormatMethod
  public static void checkArgument(
      boolean isValid, @FormatString String message, @Nullable Object... details) {
    if (!isValid) {
      throw new IllegalArgumentException(String.format(message, details));
    }
  }
}
