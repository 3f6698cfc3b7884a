package dev.interlock.zookeeper;

import dev.interlock.zookeeper.SoleUses.SoleUse;
import org.jspecify.annotations.Nullable;

/**
 * A node of this client in a lock's queue.
 *
 * @param session the session that owns the node, which is ephemeral
 * @param path the node's path
 * @param name the last part of the path
 * @param token the id of the transaction that created the node
 * @param soleUse what to remember of it when it has been deleted; null unless it was alone in the
 *     queue when it was created
 */
record QueueNode(
    Session session, String path, NodeName name, long token, @Nullable SoleUse soleUse) {

  QueueNode withSoleUse(SoleUse use) {
    return new QueueNode(session, path, name, token, use);
  }

  /** The beginning of the path, before the number that the servers appended. */
  String prefix() {
    return lockPath() + "/" + name.prefix();
  }

  /** The path of the lock's own node. */
  String lockPath() {
    return path.substring(0, path.lastIndexOf('/'));
  }
}
