package dev.interlock.etcd;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Claim;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.ByteSequence;
import java.time.Duration;
import java.util.BitSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A lease on etcd that this client keeps alive, with the queue entries that are attached to it.
 *
 * <p>A session has its own key. {@link #guard()} is the revision of its last known write. Every
 * transaction that attaches a key to the lease requires that the session's key has not been written
 * since. The client writes the key to make sure that an earlier transaction will have no effect
 * (see {@link QueueEntry}).
 */
final class Session {

  private final String namespace;
  private final long lease;
  private final ByteSequence key;
  private final Duration timeToLive;
  private final Duration validityPerConfirmation;
  private volatile long guard;
  private volatile Confirmation confirmation;

  @GuardedBy("this")
  private final Set<QueueEntry> entries = new LinkedHashSet<>();

  @GuardedBy("this")
  private final BitSet numbers = new BitSet();

  @GuardedBy("this")
  private boolean ended;

  @GuardedBy("this")
  private boolean idle;

  Session(
      String namespace, long lease, Duration timeToLive, long guard, Confirmation confirmation) {
    this.namespace = namespace;
    this.lease = lease;
    this.key = LockKeys.session(namespace, lease);
    this.timeToLive = timeToLive;
    this.validityPerConfirmation = Confirmation.validityPerConfirmation(timeToLive);
    this.guard = guard;
    this.confirmation = confirmation;
  }

  /** The namespace of the entries' keys. */
  String namespace() {
    return namespace;
  }

  long lease() {
    return lease;
  }

  ByteSequence key() {
    return key;
  }

  /** The time for which etcd keeps the lease if it is not kept alive. */
  Duration timeToLive() {
    return timeToLive;
  }

  Duration validityPerConfirmation() {
    return validityPerConfirmation;
  }

  long guard() {
    return guard;
  }

  /** Records that the session's key was written at this revision. */
  synchronized void advanceGuard(long revision) {
    guard = Math.max(guard, revision);
  }

  Confirmation confirmation() {
    return confirmation;
  }

  /** Whether the last confirmation is twice as old as it gets while the server answers. */
  boolean isOverdue(TimeSource time) {
    return time.nanoTime() - confirmation.sentAt() > timeToLive.toNanos() / 2;
  }

  synchronized void recordConfirmation(Confirmation later) {
    if (later.sentAt() - confirmation.sentAt() > 0) {
      confirmation = later;
    }
  }

  /**
   * Adds a queue entry, or returns null if the session has ended.
   *
   * @param from the smallest number that the entry may have
   */
  synchronized @Nullable QueueEntry add(Claim claim, WakeUp wakeUp, int from) {
    if (ended) {
      return null;
    }
    idle = false;
    // The smallest free number, so that a lock has few keys: until its compaction, etcd remembers
    // every key that ever existed.
    int number = numbers.nextClearBit(from);
    numbers.set(number);
    QueueEntry entry = new QueueEntry(claim, this, number, wakeUp);
    entries.add(entry);
    return entry;
  }

  /**
   * Records that a queue entry's key was created.
   *
   * @return false if the session has over meanwhile, and the key with it
   */
  synchronized boolean recordCreation(QueueEntry entry, long revision) {
    if (ended) {
      return false;
    }
    entry.setRevision(revision);
    return true;
  }

  synchronized void remove(QueueEntry entry) {
    if (entries.remove(entry)) {
      numbers.clear(entry.number());
    }
  }

  synchronized boolean hasEnded() {
    return ended;
  }

  /**
   * Ends the session, and returns the entries that ended with it; empty if it had ended before. An
   * entry without a known key is not among them: its claim notices the end when it joins the queue,
   * and its entry on another session must not be reported lost.
   */
  synchronized List<QueueEntry> end() {
    if (ended) {
      return List.of();
    }
    ended = true;
    return entries.stream().filter(entry -> entry.revision() != 0).toList();
  }

  /** Ends the session if it has been unused since the last call. */
  synchronized boolean endIfIdle() {
    boolean unused = entries.isEmpty();
    if (unused && idle) {
      ended = true;
      return true;
    }
    idle = unused;
    return false;
  }
}
