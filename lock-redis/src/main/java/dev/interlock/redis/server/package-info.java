/**
 * What one Redis server stores of a lock and how to talk to it: keys, scripts, the subscription to
 * releases, and the meaning of failures. For {@code dev.interlock.redis} and {@code
 * dev.interlock.redlock} only.
 */
@NullMarked
package dev.interlock.redis.server;

import org.jspecify.annotations.NullMarked;
