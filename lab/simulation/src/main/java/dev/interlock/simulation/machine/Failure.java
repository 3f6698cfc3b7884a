package dev.interlock.simulation.machine;

import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A rule that a world found broken.
 *
 * @param rule the rule of the contract, or the kind of failure
 * @param what the description
 */
public record Failure(String rule, String what) {

  /** Describes an exception by its causes and the top of its stack. */
  public static String describe(Throwable e) {
    String text =
        Stream.of(e.getStackTrace())
            .limit(12)
            .map(frame -> "\n      at " + frame)
            .collect(Collectors.joining("", e.toString(), ""));
    return e.getCause() == null ? text : text + "\n    because of " + describe(e.getCause());
  }

  @Override
  public String toString() {
    return rule + ": " + what;
  }
}
