package dev.interlock.storm;

import java.time.Duration;

/**
 * One intended fault.
 *
 * @param at when, counted from the beginning of the storm
 * @param kind what
 * @param client the number of the client that is hit, or {@link Plan#STORE}
 * @param choice which server or lock of the store is hit, taken modulo how many there are then
 * @param lasting for how long
 */
public record PlannedFault(Duration at, FaultKind kind, int client, int choice, Duration lasting) {}
