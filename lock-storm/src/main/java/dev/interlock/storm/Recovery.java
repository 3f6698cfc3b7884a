package dev.interlock.storm;

import java.time.Duration;

/**
 * How long after a fault a lock was acquired again.
 *
 * @param fault the fault
 * @param name the lock's name
 * @param client which client acquired it
 * @param took from the end of the fault until the grant
 */
public record Recovery(InjectedFault fault, String name, String client, Duration took) {}
