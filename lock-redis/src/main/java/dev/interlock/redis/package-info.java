/**
 * Locks on Redis: one server, a Redis Cluster, or a Sentinel group.
 *
 * <p>{@link dev.interlock.LockClient#open(String)} opens URIs with the schemes {@code redis},
 * {@code rediss}, {@code redis-cluster}, {@code rediss-cluster}, {@code redis-sentinel} and {@code
 * rediss-sentinel}. {@link dev.interlock.redis.RedisLocks} takes a Jedis client of the program.
 * Requires Redis 5 or later.
 *
 * <p>A lock {@code orders/42} is the key <code>interlock:{orders/42}</code>, which expires with the
 * holder's TTL. Its last fencing token is in <code>interlock:{orders/42}:fence</code>, which
 * expires an hour after the last lease. Nothing else is stored. If a client waits, the release is
 * published on a channel named like the lock's key.
 *
 * <p>{@link dev.interlock.LockClient#backend()} describes the promises of a lock when servers fail.
 * In short: if Redis loses its last writes, in a restart or a fail-over to a replica, there may be
 * a second holder. Its token is still higher, unless the servers' clock went back at the same time.
 */
@NullMarked
package dev.interlock.redis;

import org.jspecify.annotations.NullMarked;
