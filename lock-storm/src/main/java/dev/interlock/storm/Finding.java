package dev.interlock.storm;

/**
 * A violation of the contract.
 *
 * @param rule the rule of the contract that was broken
 * @param what what was seen; may have several lines
 */
public record Finding(String rule, String what) {}
