package dev.interlock.storm;

/**
 * Something that must not be.
 *
 * @param rule the rule of the contract that was broken
 * @param what what was seen, for people; may have several lines
 */
public record Finding(String rule, String what) {}
