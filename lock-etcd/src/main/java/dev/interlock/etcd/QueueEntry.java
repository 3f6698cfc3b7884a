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
 * lock is granted, the fencing token. A lease keeps the entry, so its key and value are made from
 * the claim when they are needed.
 *
 * <p>While the revision is unknown, the transaction that puts the key may still be under way. The
 * key can then be recognized by its value, which is unique. If the key is not there, the session's
 * key is written, which makes that transaction fail if it arrives later.
 */
final class QueueEntry {

  /** Begins the value of an entry that an operator has revoked. */
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

  /** The claim's present entry, or null if it has nothing on etcd. */
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

  /** Signalled when the entry may have become the first, or may be gone, until it is granted. */
  WakeUp wakeUp() {
    return requireNonNull(wakeUp);
  }

  void wake() {
    WakeUp waiting = wakeUp;
    if (waiting != null) {
      waiting.signal();
    }
  }

  /** The lock is granted, so no waiter needs to be woken. */
  void granted() {
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

  void created(long at) {
    revision = at;
  }

  /** The lease that the key is attached to: the session's, or an own one for a fixed TTL. */
  long lease() {
    return ownLease == 0 ? session.lease() : ownLease;
  }

  boolean hasOwnLease() {
    return ownLease != 0;
  }

  void moveTo(long lease) {
    ownLease = lease;
  }

  /** The key was seen on this lease. It never moves back from its own lease. */
  void seenOn(long lease) {
    if (lease == ownLease) {
      leftSession = true;
    }
  }

  /** Whether the key was seen on its own lease; the transaction that moves it may be in doubt. */
  boolean hasLeftSession() {
    return leftSession;
  }

  /** What to watch: the predecessor, or all that have to leave room for the claim. */
  KeyRange toWatch(EntriesAhead ahead) {
    return claim.share().isWhole()
        ? KeyRange.ofKey(ahead.keys().iterator().next())
        : keys().entriesInTheWayOf(claim.share());
  }

  /** The one that was first when this was put uses the name in the same way. */
  void agrees() {
    agreed = true;
  }

  boolean isAgreed() {
    return agreed;
  }

  /** Detaches the entry from its claim: the key is gone, ends with its lease, or was never put. */
  void discard() {
    session.remove(this);
    claim.attach(null);
  }
}
