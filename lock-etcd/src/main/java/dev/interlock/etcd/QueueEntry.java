package dev.interlock.etcd;

import dev.interlock.spi.Claim;
import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.ByteSequence;
import org.jspecify.annotations.Nullable;

/**
 * What one claim has on etcd: a key in the lock's line, whose creation revision is its place and,
 * at its turn, its fencing token.
 *
 * <p>As long as the revision is unknown, the transaction that puts the key may still be on its way.
 * It is then known by its value, which nobody else's has; and if it is not there, the session's key
 * is written, without which that transaction does nothing when it arrives.
 */
final class QueueEntry {

  private final Claim claim;
  private final LockKeys keys;
  private final Session session;
  private final int number;
  private final WakeUp wakeUp;
  private final ByteSequence key;
  private final ByteSequence value;
  private volatile long revision;
  private volatile long ownLease;
  private volatile boolean leftSession;

  QueueEntry(Claim claim, LockKeys keys, Session session, int number, WakeUp wakeUp) {
    this.claim = claim;
    this.keys = keys;
    this.session = session;
    this.number = number;
    this.wakeUp = wakeUp;
    this.key = keys.place(session.lease(), number);
    this.value = LockKeys.bytes(claim.id() + '|' + claim.holder());
  }

  /** The claim's present queue entry, or null if it has nothing on etcd. */
  static @Nullable QueueEntry of(Claim claim) {
    return claim.attachment() instanceof QueueEntry entry ? entry : null;
  }

  Claim claim() {
    return claim;
  }

  LockKeys keys() {
    return keys;
  }

  Session session() {
    return session;
  }

  /** Tells apart the places that a session has at a time. */
  int number() {
    return number;
  }

  /** Signalled when it may be the queue entry's turn, or its place is gone. */
  WakeUp wakeUp() {
    return wakeUp;
  }

  ByteSequence key() {
    return key;
  }

  ByteSequence value() {
    return value;
  }

  /** The creation revision of the key, or 0 as long as it is not known. */
  long revision() {
    return revision;
  }

  void created(long at) {
    revision = at;
  }

  /** The lease that the key hangs on: the session's, or one of its own for a fixed TTL. */
  long lease() {
    return ownLease == 0 ? session.lease() : ownLease;
  }

  boolean hasOwnLease() {
    return ownLease != 0;
  }

  void moveTo(long lease) {
    ownLease = lease;
  }

  /** The key was seen on this lease; what has moved to one of its own does not come back. */
  void seenOn(long lease) {
    if (lease == ownLease) {
      leftSession = true;
    }
  }

  /** Whether the key is known to hang on a lease of its own; the move there may be in doubt. */
  boolean hasLeftSession() {
    return leftSession;
  }

  /** The key is gone for certain or ends with its lease, or was never put and never will be. */
  void gone() {
    session.remove(this);
    claim.attach(null);
  }
}
