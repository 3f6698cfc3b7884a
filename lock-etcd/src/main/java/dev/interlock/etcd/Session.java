package dev.interlock.etcd;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Claim;
import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.ByteSequence;
import java.time.Duration;
import java.util.BitSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A lease of etcd's that this client keeps alive, on which its places in line stand.
 *
 * <p>It has a key of its own. Every transaction that puts a key on the lease demands that the
 * session's key has not been written since; whoever must rule out that an earlier transaction is
 * still to arrive writes it (see {@link QueueEntry}). {@link #guard()} is the revision of the last
 * write known here.
 */
final class Session {

  private final long lease;
  private final ByteSequence key;
  private final Duration timeToLive;
  private final AtomicLong guard;
  private volatile Confirmation confirmation;

  @GuardedBy("this")
  private final Set<QueueEntry> entries = new LinkedHashSet<>();

  @GuardedBy("this")
  private final BitSet numbers = new BitSet();

  @GuardedBy("this")
  private boolean over;

  @GuardedBy("this")
  private boolean idle;

  Session(
      long lease, ByteSequence key, Duration timeToLive, long guard, Confirmation confirmation) {
    this.lease = lease;
    this.key = key;
    this.timeToLive = timeToLive;
    this.guard = new AtomicLong(guard);
    this.confirmation = confirmation;
  }

  long lease() {
    return lease;
  }

  ByteSequence key() {
    return key;
  }

  /** For how long etcd keeps it without a sign of life. */
  Duration timeToLive() {
    return timeToLive;
  }

  long guard() {
    return guard.get();
  }

  /** The session's key was seen to have been written at this revision. */
  void guardMoved(long revision) {
    guard.accumulateAndGet(revision, Math::max);
  }

  Confirmation confirmation() {
    return confirmation;
  }

  synchronized void confirmed(Confirmation later) {
    if (later.sentAt() - confirmation.sentAt() > 0) {
      confirmation = later;
    }
  }

  /**
   * Makes a queue entry, or returns null if the session is over.
   *
   * @param from the smallest number that it may have
   */
  synchronized @Nullable QueueEntry add(Claim claim, LockKeys keys, WakeUp wakeUp, int from) {
    if (over) {
      return null;
    }
    idle = false;
    // The smallest that is free: a name's keys are made again and again, and not always new ones,
    // of which etcd would remember every one until it is compacted.
    int number = numbers.nextClearBit(from);
    numbers.set(number);
    QueueEntry entry = new QueueEntry(claim, keys, this, number, wakeUp);
    entries.add(entry);
    return entry;
  }

  /**
   * Notes that a queue entry's key was created.
   *
   * @return false if the session has ended meanwhile, and the key with it
   */
  synchronized boolean placed(QueueEntry entry, long revision) {
    if (over) {
      return false;
    }
    entry.created(revision);
    return true;
  }

  synchronized void remove(QueueEntry entry) {
    if (entries.remove(entry)) {
      numbers.clear(entry.number());
    }
  }

  synchronized boolean isOver() {
    return over;
  }

  /**
   * Ends it, if it had not ended, and returns whose places ended with it. A queue entry that has no
   * place yet is not among them: its claim learns of the end by itself, gets in line on another
   * session, and what it has there must not be taken for lost.
   */
  synchronized List<QueueEntry> end() {
    if (over) {
      return List.of();
    }
    over = true;
    return entries.stream().filter(entry -> entry.revision() != 0).toList();
  }

  /** Ends it if nobody has used it since this was last asked. */
  synchronized boolean endIfIdle() {
    boolean unused = entries.isEmpty();
    if (unused && idle) {
      over = true;
      return true;
    }
    idle = unused;
    return false;
  }
}
