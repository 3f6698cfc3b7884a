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
 * The entries ahead in the queue for which an entry waits: all known ones if others may hold the
 * lock together with it, and otherwise the nearest.
 *
 * <p>No entry ever gets ahead of one that is in the queue, so their number can only fall. If a
 * deletion is missed, this contains too many entries and never too few. So the waiter may read the
 * queue too late, but never too early.
 */
final class EntriesAhead {

  private final Share own;

  @GuardedBy("this")
  private final Map<ByteSequence, Share> entries;

  /** The weight of the entries that agree with the own entry. */
  @GuardedBy("this")
  private long weight;

  /**
   * The number of entries that disagree with the own entry on the kind or capacity of the lock. The
   * own entry waits for them whatever their weight.
   */
  @GuardedBy("this")
  private int disagreeing;

  private EntriesAhead(Share own, int expected) {
    this.own = own;
    this.entries = new HashMap<>(expected * 2);
  }

  /**
   * Keeps the entries that were created before a revision.
   *
   * @param own the share of the waiting entry
   * @param keys the keys of the lock
   * @param found entries of the lock's queue
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

  /** Whether the own share fits beside the entries. */
  synchronized boolean leaveRoom() {
    return disagreeing == 0 && weight + own.weight() <= own.capacity();
  }

  /** Whether an entry disagrees with the own one on the kind or capacity of the lock. */
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

  /** Removes an entry whose key was deleted. */
  synchronized void remove(ByteSequence key) {
    Share share = entries.remove(key);
    if (share != null) {
      count(share, -1);
    }
  }

  /** Removes the entries that a later view does not contain. */
  void retain(EntriesAhead later) {
    Set<ByteSequence> remaining = later.keys();
    synchronized (this) {
      for (ByteSequence key : keys()) {
        if (!remaining.contains(key)) {
          remove(key);
        }
      }
    }
  }
}
