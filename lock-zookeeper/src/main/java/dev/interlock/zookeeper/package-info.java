/**
 * Locks on ZooKeeper: URIs with the scheme {@code zookeeper}, or {@link
 * dev.interlock.zookeeper.ZooKeeperLocks} with a {@link
 * org.apache.curator.framework.CuratorFramework} of the program's own.
 *
 * <p>A lock is a container node. Each client that holds it or waits for it has an ephemeral
 * sequential node below, with its label as data. The node with the lowest number holds the lock;
 * each other client watches its predecessor, so that a release wakes one waiter. The fencing token
 * is the id of the transaction that created the holder's node, which the ensemble never repeats.
 * ZooKeeper does not record when a waiter was granted the lock, so {@code heldSince} is empty.
 */
@NullMarked
package dev.interlock.zookeeper;

import org.jspecify.annotations.NullMarked;
