package dev.interlock.zookeeper;

import java.util.List;

/**
 * What a waiter in a lock's queue waits for.
 *
 * @param nodes the nodes to watch; none if the waiter is the next and waits for permits, which any
 *     of the holders may return
 * @param areAll whether nothing else is in the way, so that the lock is granted when all of them
 *     have been deleted: no claim ever comes in ahead. Otherwise the waiter looks again when one
 *     has been
 * @param isFirst whether the first of them is the first in the queue, and so holds the lock
 * @param untilGranted whether the waiter also has to look again when a node's claim is granted
 */
record Blocker(List<NodeName> nodes, boolean areAll, boolean isFirst, boolean untilGranted) {

  /** Too few permits are left. */
  static final Blocker PERMITS = new Blocker(List.of(), false, false, false);

  /** Whether any change of the queue counts, and not only that of some nodes. */
  boolean isQueue() {
    return nodes.isEmpty();
  }
}
