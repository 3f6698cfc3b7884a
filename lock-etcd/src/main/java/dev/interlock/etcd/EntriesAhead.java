package dev.interlock.etcd;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Share;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The entries ahead in the queue for which an entry waits, as far as it knows: all of them if
 * others may hold the name together with it, and otherwise the nearest.
 *
 * <p>No entry ever gets ahead of one that is in the queue, so their number can only fall. If a
 * deletion is missed, too many are left here and never too few: the waiter looks too late, but
 * never too early.
 */
final class EntriesAhead {

  private final Share own;

  @GuardedBy("this")
  private final Map<ByteSequence, Share> entries;

  /** The weight of the entries that use the name as the own entry does. */
  @GuardedBy("this")
  private long weight;

  /** How many use the name in another way. The own entry waits for them, whatever they weigh. */
  @GuardedBy("this")
  private int disagreeing;

  private EntriesAhead(Share own, int expected) {
    this.own = own;
    this.entries = new HashMap<>(expected * 2);
  }

  /**
   * Keeps the entries that were created before a revision.
   *
   * @param own the share of the entry that waits
   * @param keys those of the name
   * @param found entries of its queue
   * @param before the revision at which the own key was created
   */
  static EntriesAhead of(Share own, LockKeys keys, List<KeyValue> found, long before) {
    EntriesAhead ahead = new EntriesAhead(own, found.size());
    for (KeyValue entry : found) {
      if (entry.getCreateRevision() < before) {
        ahead.add(entry.getKey(), keys.share(entry.getKey()));
      }
    }
    return ahead;
  }

  private synchronized void add(ByteSequence key, Share share) {
    entries.put(key, share);
    count(share, 1);
  }

  @GuardedBy("this")
  private void count(Share share, int times) {
    if (share.agreesWith(own)) {
      weight += (long) times * share.weight();
    } else {
      disagreeing += times;
    }
  }

  /** Whether the own share fits beside them. */
  synchronized boolean leaveRoom() {
    return disagreeing == 0 && weight + own.weight() <= own.capacity();
  }

  /** Whether one of them uses the name in another way. */
  synchronized boolean disagree() {
    return disagreeing > 0;
  }

  synchronized Set<ByteSequence> keys() {
    return Set.copyOf(entries.keySet());
  }

  /** A copy that later deletions do not change. */
  synchronized EntriesAhead copy() {
    EntriesAhead copy = new EntriesAhead(own, entries.size());
    entries.forEach(copy::add);
    return copy;
  }

  /** A key was deleted. */
  synchronized void gone(ByteSequence key) {
    Share share = entries.remove(key);
    if (share != null) {
      count(share, -1);
    }
  }

  /** Only these are left. */
  void retain(EntriesAhead later) {
    Set<ByteSequence> left = later.keys();
    synchronized (this) {
      for (ByteSequence key : keys()) {
        if (!left.contains(key)) {
          gone(key);
        }
      }
    }
  }
}
