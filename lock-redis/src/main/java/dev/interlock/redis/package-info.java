/**
 * Locks on Redis: one server, a Redis Cluster, or a group watched by Sentinel.
 *
 * <p>URIs with the schemes {@code redis}, {@code rediss}, {@code redis-cluster}, {@code
 * rediss-cluster}, {@code redis-sentinel} and {@code rediss-sentinel} are opened by {@link
 * dev.interlock.LockClient#open(String)}; a Jedis client that the program already has is taken by
 * {@link dev.interlock.redis.RedisLocks}. Redis 5 or later is needed.
 *
 * <p>A lock {@code orders/42} is the key <code>interlock:{orders/42}</code>, which the holder's TTL
 * expires, and its fencing tokens come from <code>interlock:{orders/42}:fence</code>, which expires
 * an hour after the last lease. Nothing else is kept on the server. Releases are published, if
 * somebody listens, on a channel named like the lock's key.
 *
 * <p>How far the promises of a lock hold when servers fail is said by {@link
 * dev.interlock.LockClient#backend()}. In short: a Redis that loses its last writes, by a restart
 * or by failing over to a replica, may let a second holder in; the second one's token is still the
 * higher one, unless at the same time the clock that the servers share went back.
 */
@NullMarked
package dev.interlock.redis;

import org.jspecify.annotations.NullMarked;
