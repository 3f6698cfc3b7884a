package dev.interlock.storm;

import java.time.Duration;

/**
 * How long a name had to wait for its next lease after a fault.
 *
 * @param fault the fault
 * @param name the lock's name
 * @param client who got it
 * @param took from the fault's end until the grant
 */
public record Recovery(InjectedFault fault, String name, String client, Duration took) {}
