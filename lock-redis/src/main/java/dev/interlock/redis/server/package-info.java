/**
 * Access to one Redis server: keys, scripts, connections, the subscription to releases, and the
 * explanation of failures. For {@code dev.interlock.redis} and {@code dev.interlock.redlock} only.
 */
@NullMarked
package dev.interlock.redis.server;

import org.jspecify.annotations.NullMarked;
