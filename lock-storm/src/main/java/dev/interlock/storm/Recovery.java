package dev.interlock.storm;

import java.time.Duration;

/**
 * How long a name had to wait for its next lease after a blow.
 *
 * @param blow the blow
 * @param name the lock's name
 * @param client who got it
 * @param took from the blow's end until the grant
 */
public record Recovery(Blow blow, String name, String client, Duration took) {}
