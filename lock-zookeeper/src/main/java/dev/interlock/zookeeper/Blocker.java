package dev.interlock.zookeeper;

import java.util.List;

/**
 * The nodes for which a waiter in a lock's queue waits.
 *
 * @param nodes the nodes to watch; empty if the waiter is the next and waits for permits, which any
 *     of the holders may release
 * @param isComplete whether the nodes are all that is in the way. The lock is then granted when all
 *     of them have been deleted, as no claim ever gets ahead of another. Otherwise the waiter lists
 *     the queue again when one of the nodes has been deleted
 * @param isFirst whether the first of the nodes is the first in the queue, and so holds the lock
 * @param watchesGrants whether the waiter also lists the queue again when a node's claim is granted
 */
record Blocker(List<NodeName> nodes, boolean isComplete, boolean isFirst, boolean watchesGrants) {

  /** The blocker of a waiter for which too few permits are left. */
  static final Blocker PERMITS = new Blocker(List.of(), false, false, false);

  /** Whether any change of the queue counts, and not only changes of certain nodes. */
  boolean isQueue() {
    return nodes.isEmpty();
  }
}
