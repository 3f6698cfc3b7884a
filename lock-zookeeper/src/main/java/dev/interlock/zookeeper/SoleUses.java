package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Remembers locks whose queue had nobody else in it when this client entered it last. The number of
 * the client's next node then shows whether it is alone again, without a look at the queue.
 *
 * <p>The servers number the children of a lock's node in the order of their creation. If the next
 * node of this client, whose former one it has deleted, has the next number, then nobody has
 * created one in between, and nobody was there before. Unless the lock's node was removed and made
 * anew, and the numbers began again: to come as far as that takes at least as many transactions,
 * and the ids of the two creations bound how many there were.
 *
 * <p>It belongs to one session. Its driver connects to no server that has seen less than this
 * client has, so numbers and ids do not go back, as they do when servers are restored from a copy.
 */
final class SoleUses {

  private static final int KEPT = 1_000;

  /**
   * A node that was alone when it was created.
   *
   * @param number its sequence number
   * @param czxid the transaction that created it
   * @param distance how many transactions before that this client had created the node with the
   *     number before, if it had, or else {@link Long#MAX_VALUE}
   */
  record SoleUse(int number, long czxid, long distance) {

    /** Whether the next node will probably show that it is alone, as this one did. */
    boolean isLikelyToProve() {
      return distance <= number;
    }

    /**
     * Whether another node was alone as well when it was created, if this one had been deleted.
     * Otherwise nothing is known of it.
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
          return size() > KEPT;
        }
      };

  /** What is known of a lock. It is known no longer, until its queue has been left. */
  synchronized @Nullable SoleUse take(String lock) {
    return uses.remove(lock);
  }

  /** Notes a node that was alone, when it has been deleted. */
  synchronized void add(String lock, SoleUse use) {
    uses.put(lock, use);
  }

  /** What to remember of a node that was alone, given what was known before it was created. */
  static SoleUse following(@Nullable SoleUse before, QueueNode node) {
    long distance =
        before != null && before.isBefore(node) ? node.token() - before.czxid() : Long.MAX_VALUE;
    return new SoleUse(node.number(), node.token(), distance);
  }
}
