package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.zookeeper.ZooKeeper;

/**
 * Limits the length of the transaction that ends a session, which contains the paths of all nodes
 * of the session. Servers write such a transaction whatever its length, but read none that is
 * longer than {@code jute.maxbuffer} and {@code zookeeper.jute.maxbuffer.extrasize} together. No
 * follower accepts a longer one from the leader, and no server starts that finds one in its log (<a
 * href="https://issues.apache.org/jira/browse/ZOOKEEPER-4306">ZOOKEEPER-4306</a>).
 *
 * <p>A session has one account, however many clients of a program use the session. The account ends
 * with it.
 */
final class NodeAccount {

  /**
   * A quarter of what servers read by default, and half of what they read with the smallest {@code
   * extrasize}.
   */
  static final int MAX_BYTES = 512 * 1024;

  private static final Map<ZooKeeper, NodeAccount> ACCOUNTS =
      Collections.synchronizedMap(new WeakHashMap<>());

  private final int maxBytes;

  @GuardedBy("this")
  private int bytes;

  NodeAccount(int maxBytes) {
    this.maxBytes = maxBytes;
  }

  /** The account of a driver's session: a driver has one session in its life. */
  static NodeAccount of(ZooKeeper driver, int maxBytes) {
    return ACCOUNTS.computeIfAbsent(driver, any -> new NodeAccount(maxBytes));
  }

  /** Reserves room for a node. Returns false if there is not enough room beside other nodes. */
  synchronized boolean reserve(int nodeBytes) {
    if (bytes > 0 && nodeBytes > maxBytes - bytes) {
      return false;
    }
    bytes += nodeBytes;
    return true;
  }

  /** Frees the room of a node that certainly neither exists nor will be created. */
  synchronized void free(int nodeBytes) {
    bytes -= nodeBytes;
  }
}
