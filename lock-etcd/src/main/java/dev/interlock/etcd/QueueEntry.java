package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import dev.interlock.spi.Claim;
import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import org.jspecify.annotations.Nullable;

/**
 * A claim's entry in the lock's queue: a key whose creation revision is its position and, once the
 * lock is granted, the fencing token. Each lease keeps one, so to save memory its key and value are
 * computed when they are needed.
 *
 * <p>While the revision is unknown, the transaction that puts the key may still be in flight. The
 * key can then be recognized by its value, which is unique. If the key is missing, the client
 * writes the session's key, which makes the transaction fail if it arrives later.
 */
final class QueueEntry {

  /** The beginning of the value of an entry that an operator has revoked. */
  static final String REVOKED = "revoked|";

  private final Claim claim;
  private final Session session;
  private final int number;
  private volatile @Nullable WakeUp wakeUp;
  private volatile long revision;
  private volatile long ownLease;
  private volatile boolean leftSession;
  private volatile boolean agreed;

  QueueEntry(Claim claim, Session session, int number, WakeUp wakeUp) {
    this.claim = claim;
    this.session = session;
    this.number = number;
    this.wakeUp = wakeUp;
  }

  /** The claim's current entry, or null if the claim has nothing on etcd. */
  static @Nullable QueueEntry of(Claim claim) {
    return claim.attachment() instanceof QueueEntry entry ? entry : null;
  }

  /** The label in the value of any client's entry. */
  static String label(KeyValue entry) {
    String value = entry.getValue().toString(UTF_8);
    boolean revoked = value.startsWith(REVOKED);
    String label = value.substring(value.indexOf('|', revoked ? REVOKED.length() : 0) + 1);
    return revoked ? label + " (revoked)" : label;
  }

  Claim claim() {
    return claim;
  }

  LockKeys keys() {
    return LockKeys.of(session.namespace(), claim.name());
  }

  Session session() {
    return session;
  }

  /** Distinguishes the simultaneous entries of a session. */
  int number() {
    return number;
  }

  /** The signal that the entry may be granted or gone; available until the entry is granted. */
  WakeUp wakeUp() {
    return requireNonNull(wakeUp);
  }

  void wake() {
    WakeUp current = wakeUp;
    if (current != null) {
      current.signal();
    }
  }

  /** Drops the wake-up of an entry that is granted, and so has no waiter. */
  void stopWaking() {
    wakeUp = null;
  }

  ByteSequence key() {
    return keys().entry(claim.share(), session.lease(), number);
  }

  ByteSequence value() {
    return LockKeys.bytes(claim.id() + '|' + claim.label());
  }

  /** The creation revision of the key, or 0 while it is unknown. */
  long revision() {
    return revision;
  }

  void setRevision(long created) {
    revision = created;
  }

  /** The lease to which the key is attached: the session's, or one of its own for a fixed TTL. */
  long lease() {
    return ownLease == 0 ? session.lease() : ownLease;
  }

  boolean hasOwnLease() {
    return ownLease != 0;
  }

  void moveTo(long lease) {
    ownLease = lease;
  }

  /** Records the lease on which the key was seen. The key never moves back from its own lease. */
  void recordLease(long lease) {
    if (lease == ownLease) {
      leftSession = true;
    }
  }

  /**
   * Whether the key was seen on its own lease, while the transaction that moves it was in doubt.
   */
  boolean hasLeftSession() {
    return leftSession;
  }

  /**
   * The keys to watch: the predecessor, or all entries that may have to make room for the claim.
   */
  KeyRange toWatch(EntriesAhead ahead) {
    return claim.share().isWhole()
        ? KeyRange.ofKey(ahead.keys().iterator().next())
        : keys().entriesInTheWayOf(claim.share());
  }

  /** Marks that the entry agrees with the one that was first when this was put. */
  void markAgreed() {
    agreed = true;
  }

  boolean isAgreed() {
    return agreed;
  }

  /**
   * Detaches the entry from its claim, because the key is gone, ends with its lease, or was never
   * put.
   */
  void discard() {
    session.remove(this);
    claim.attach(null);
  }
}
