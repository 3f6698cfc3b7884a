package dev.interlock.storm.nemesis;

import java.time.Duration;

/**
 * A fault of a plan.
 *
 * @param at its time, counted from the beginning of the storm
 * @param kind its kind
 * @param client the number of the client that it hits, or {@link Plan#STORE}
 * @param choice which server or lock of the store it hits, modulo their number at that time
 * @param duration how long it is in force
 */
public record PlannedFault(
    Duration at, FaultKind kind, int client, int choice, Duration duration) {}
