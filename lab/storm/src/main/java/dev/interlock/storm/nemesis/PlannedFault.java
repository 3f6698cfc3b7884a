package dev.interlock.storm.nemesis;

import java.time.Duration;

/**
 * A fault that the plan has.
 *
 * @param at when, counted from the beginning of the storm
 * @param kind what
 * @param client the number of the client that it hits, or {@link Plan#STORE}
 * @param choice which server or lock of the store it hits, modulo their number then
 * @param lasting for how long
 */
public record PlannedFault(Duration at, FaultKind kind, int client, int choice, Duration lasting) {}
