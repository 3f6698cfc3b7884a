/**
 * Locks on a majority of independent Redis servers: Redlock, with fencing tokens that a majority
 * has confirmed, and with nodes that know when they have forgotten something.
 *
 * <p>URIs with the schemes {@code redlock} and {@code redlocks} are opened by {@link
 * dev.interlock.LockClient#open(String)}; Jedis clients that the program already has, one for each
 * node, are taken by {@link dev.interlock.redlock.RedlockLocks}. How locks are kept is said by
 * {@link dev.interlock.redlock.RedlockSettings}. Redis 5 or later is needed.
 *
 * <p>On each node a lock {@code orders/42} is the key <code>interlock:{orders/42}</code>, which the
 * holder's TTL expires, and its last fence is <code>interlock:{orders/42}:fence</code>. The node's
 * record of itself is the hash {@code interlock:redlock}, which never expires; a node without it,
 * or whose record is of another server process than the one that runs, does not vote until the
 * longest TTL has passed. Releases are published on a channel named like the lock's key, on every
 * node.
 *
 * <p>A client has one connection and one thread for each node, and one of each more while somebody
 * waits for a lock.
 */
@NullMarked
package dev.interlock.redlock;

import org.jspecify.annotations.NullMarked;
