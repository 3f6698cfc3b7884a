package dev.interlock.zookeeper;

/**
 * A node of ours in a lock's line.
 *
 * @param session the session that it lives as long as
 * @param path the node
 * @param node its name, taken apart
 * @param token the transaction by which it was made
 */
record QueueNode(Session session, String path, LineNode node, long token) {

  /** How the node's path begins. */
  String prefix() {
    return lockPath() + "/" + LineNode.prefix(node.claimId());
  }

  /** The node of the lock itself. */
  String lockPath() {
    return path.substring(0, path.lastIndexOf('/'));
  }
}
