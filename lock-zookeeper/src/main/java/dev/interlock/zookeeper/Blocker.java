package dev.interlock.zookeeper;

import org.jspecify.annotations.Nullable;

/**
 * What a waiter in a lock's queue waits for.
 *
 * @param node the node to watch; null if the waiter is the next and waits for permits, which any of
 *     the holders may return
 * @param isOnly whether nothing else is in the way, so that the lock is granted when the node is
 *     deleted: no claim ever comes in ahead
 * @param isFirst whether the node is the first in the queue, and so holds the lock
 * @param untilGranted whether the waiter also has to look again when the node's claim is granted
 */
record Blocker(@Nullable NodeName node, boolean isOnly, boolean isFirst, boolean untilGranted) {

  /** Too few permits are left. */
  static final Blocker PERMITS = new Blocker(null, false, false, false);
}
