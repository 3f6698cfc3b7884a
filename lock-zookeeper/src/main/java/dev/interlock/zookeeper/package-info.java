/**
 * Locks on ZooKeeper, as ephemeral sequential nodes: {@code zookeeper:}, or through a {@link
 * org.apache.curator.framework.CuratorFramework} of the program's own by {@link
 * dev.interlock.zookeeper.ZooKeeperLocks}.
 *
 * <p>A lock is a container node, and everybody who holds it or waits for it has an ephemeral
 * sequential node below. The one with the lowest number holds the lock; everybody else watches the
 * one before, so that a release wakes one waiter. The fencing token is the transaction id by which
 * the holder's node was made, which the ensemble never repeats.
 */
@NullMarked
package dev.interlock.zookeeper;

import org.jspecify.annotations.NullMarked;
