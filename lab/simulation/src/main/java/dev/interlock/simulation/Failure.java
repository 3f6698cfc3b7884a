package dev.interlock.simulation;

/**
 * A rule that a world found broken.
 *
 * @param rule the rule of the contract, or what kind of failure it is
 * @param what the description
 */
public record Failure(String rule, String what) {
  @Override
  public String toString() {
    return rule + ": " + what;
  }
}
