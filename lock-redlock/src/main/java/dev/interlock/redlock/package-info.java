/**
 * Locks on a majority of independent Redis servers: Redlock, with fencing tokens that a majority
 * has confirmed, and without the votes of nodes that may have forgotten locks.
 *
 * <p>{@link dev.interlock.LockClient#open(String)} opens URIs with the schemes {@code redlock} and
 * {@code redlocks}. {@link dev.interlock.redlock.RedlockLocks} takes Jedis clients of the program,
 * one for each node. {@link dev.interlock.redlock.RedlockSettings} has the settings. Requires Redis
 * 5 or later.
 *
 * <p>On each node a lock {@code orders/42} is the key <code>interlock:{orders/42}</code>, which
 * expires with the holder's TTL, and its last fence is <code>interlock:{orders/42}:fence</code>.
 * The node's record of itself is the hash {@code interlock:redlock}, which never expires. A node
 * without it, or whose record names another server process, does not vote until the longest TTL has
 * passed. Every node publishes releases on a channel named like the lock's key.
 *
 * <p>A client has one connection and one thread for each node, and one more of each while a thread
 * waits for a lock.
 */
@NullMarked
package dev.interlock.redlock;

import org.jspecify.annotations.NullMarked;
