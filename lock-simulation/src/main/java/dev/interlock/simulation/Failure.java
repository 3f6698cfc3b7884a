package dev.interlock.simulation;

/**
 * What a world found to be broken.
 *
 * @param rule the rule of the contract, or what kind of failure it is
 * @param what for people
 */
public record Failure(String rule, String what) {
  @Override
  public String toString() {
    return rule + ": " + what;
  }
}
