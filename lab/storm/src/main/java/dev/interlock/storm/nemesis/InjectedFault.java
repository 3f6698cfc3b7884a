package dev.interlock.storm.nemesis;

import java.time.Duration;

/**
 * A fault as it was injected. Times are counted from the beginning of the storm.
 *
 * @param kind its label, such as {@code restart server}
 * @param target what it hit, such as {@code redis-1} or {@code client-2}
 * @param insideModel whether exclusion survives it according to the backend's failure model
 * @param from before it was injected
 * @param until after it had been undone
 * @param tookEffect whether it was seen to have an effect; one that was not counts as not tested
 * @param note further details; may be empty
 */
public record InjectedFault(
    String kind,
    String target,
    boolean insideModel,
    Duration from,
    Duration until,
    boolean tookEffect,
    String note) {}
