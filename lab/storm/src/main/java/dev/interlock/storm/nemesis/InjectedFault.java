package dev.interlock.storm.nemesis;

import java.time.Duration;

/**
 * A fault that was injected. Times are counted from the beginning of the storm.
 *
 * @param kind the label of its kind, such as {@code restart server}
 * @param target the target, such as {@code redis-1} or {@code client-2}
 * @param insideModel whether exclusion survives it according to the backend's failure model
 * @param from a time before it was injected
 * @param until a time after it was undone
 * @param tookEffect whether it had a visible effect; otherwise it counts as not tested
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
