package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Remembers locks whose queue was otherwise empty when this client last joined it. The number of
 * the client's next node then shows, without a listing, whether it is alone again.
 *
 * <p>The servers number the children of a lock's node in the order of their creation. Suppose this
 * client has deleted its previous node, and its next node has the next number. Then no node was
 * created in between, so the new node is alone. The exception is a lock's node that was removed and
 * created again, so that the numbers restarted. To reach the same number takes at least as many
 * transactions, and the ids of the two creations bound how many there were.
 *
 * <p>An instance belongs to one session. The session's driver connects to no server that has seen
 * less than this client, so numbers and ids never go back, as they do when servers are restored
 * from a copy.
 */
final class SoleUses {

  private static final int MAX_USES = 1_000;

  /**
   * A node that was alone when it was created.
   *
   * @param number its sequence number
   * @param czxid the transaction that created it
   * @param distance the number of transactions since this client created the node with the
   *     preceding number; {@link Long#MAX_VALUE} if another client created that node
   */
  record SoleUse(int number, long czxid, long distance) {

    /** Whether the number of the next node will probably prove that the node is alone. */
    boolean isLikelyToProve() {
      return distance <= number;
    }

    /**
     * Whether the next node was certainly alone as well when it was created, given that this one
     * had been deleted.
     */
    boolean proves(QueueNode next) {
      return isBefore(next) && next.token() - czxid <= number;
    }

    private boolean isBefore(QueueNode next) {
      return next.number() == number + 1 && next.token() > czxid;
    }
  }

  @GuardedBy("this")
  private final Map<String, SoleUse> uses =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, SoleUse> eldest) {
          return size() > MAX_USES;
        }
      };

  /** Removes and returns the last use of a lock. */
  synchronized @Nullable SoleUse take(String lock) {
    return uses.remove(lock);
  }

  /** Adds the use of a node that was alone and has been deleted. */
  synchronized void add(String lock, SoleUse use) {
    uses.put(lock, use);
  }

  /** The use to remember of a node that was alone; {@code previous} is the use before it. */
  static SoleUse after(@Nullable SoleUse previous, QueueNode node) {
    long distance =
        previous != null && previous.isBefore(node)
            ? node.token() - previous.czxid()
            : Long.MAX_VALUE;
    return new SoleUse(node.number(), node.token(), distance);
  }
}
