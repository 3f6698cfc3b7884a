package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.zookeeper.ZooKeeper;

/**
 * Limits how long the transaction becomes that ends a session: it holds the paths of all nodes that
 * the session owns. Servers write such a transaction whatever its length, and read none that is
 * longer than {@code jute.maxbuffer} and {@code zookeeper.jute.maxbuffer.extrasize} together. With
 * a longer one no follower accepts it from the leader, and no server starts that finds it in its
 * log (<a href="https://issues.apache.org/jira/browse/ZOOKEEPER-4306">ZOOKEEPER-4306</a>).
 *
 * <p>A session has one account, however many clients of a program use it. It ends with the session.
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

  /** Counts a node that is to be created; false if there is no room for it beside others. */
  synchronized boolean reserve(int nodeBytes) {
    if (bytes > 0 && nodeBytes > maxBytes - bytes) {
      return false;
    }
    bytes += nodeBytes;
    return true;
  }

  /** Counts a node no longer, which certainly neither exists nor will be created. */
  synchronized void giveBack(int nodeBytes) {
    bytes -= nodeBytes;
  }
}
