package dev.interlock.zookeeper;

import dev.interlock.spi.Claim;
import dev.interlock.zookeeper.SoleUses.SoleUse;
import org.jspecify.annotations.Nullable;

/**
 * A node of this client in a lock's queue. Each lease keeps one, so to save memory its path and
 * name are computed when they are needed.
 *
 * @param session the session that owns the node, which is ephemeral
 * @param claim the claim that created the node
 * @param number the number that the servers appended to the node's name
 * @param token the id of the transaction that created the node
 * @param soleUse the use to remember when the node has been deleted; null unless the node was alone
 *     in the queue when it was created
 */
record QueueNode(Session session, Claim claim, int number, long token, @Nullable SoleUse soleUse) {

  QueueNode withSoleUse(SoleUse use) {
    return new QueueNode(session, claim, number, token, use);
  }

  String path() {
    return lockPath() + "/" + name().full();
  }

  /** The last part of the path. */
  NodeName name() {
    return NodeName.of(claim, number);
  }

  /** The path of the lock's own node. */
  String lockPath() {
    return LockPaths.of(session.sessions().namespacePath(), claim.name());
  }
}
