package dev.interlock;

/** What is known after {@link Lease#release()}. More may be added in a later release. */
public enum ReleaseOutcome {
  /** The store confirmed that the lease held the lock until now, and that it is released. */
  RELEASED,
  /**
   * The lock was handed off to a waiter of the same client, without a request to the store: the
   * lease was not known to be lost, and the store has confirmed nothing. For a {@link MultiLease},
   * this happened to at least one of its locks, and the others were released.
   *
   * <p>A client hands a lock off only while at least two thirds of the lease's validity are left,
   * and within a third of a TTL after acquiring it from the store. So the store's last confirmation
   * is at most a third of the validity old. The next renewal or release detects what has happened
   * to the lock on the store since then.
   *
   * <p>A reader also gets this while other readers of its client have the same grant; the last of
   * them releases it.
   */
  HANDED_OFF,
  /**
   * The {@linkplain LockOptions#minHold() minimum hold} has not passed. The lease has ended, and
   * the lock becomes free when it has: the store sees to that with {@link
   * Capability#DEFERRED_RELEASE}, the client in the background otherwise. For a {@link MultiLease},
   * this happens to at least one of its locks.
   */
  DEFERRED,
  /** The lease had been lost before; there was nothing to release. */
  ALREADY_LOST,
  /**
   * The store did not confirm in time. The release is repeated in the background, and the lock is
   * free within the {@linkplain Lease#effectiveTtl() effective TTL} at the latest.
   */
  UNKNOWN
}
