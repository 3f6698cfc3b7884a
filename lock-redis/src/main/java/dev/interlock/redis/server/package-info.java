/**
 * What one Redis server holds of a lock and how it is spoken to: keys, scripts, releases that are
 * listened to, and what its failures mean. For {@code dev.interlock.redis} and {@code
 * dev.interlock.redlock} only.
 */
@NullMarked
package dev.interlock.redis.server;

import org.jspecify.annotations.NullMarked;
