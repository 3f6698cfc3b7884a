package dev.interlock;

/** What is known after {@link Lease#release()}. More may be added in a later release. */
public enum ReleaseOutcome {
  /** The store confirmed that the lease held the lock until now, and that it is released. */
  RELEASED,
  /**
   * The lock was handed off to a waiter of the same client, without asking the store: the lease was
   * not known to be lost, and nothing has been confirmed. Of a {@link MultiLease}: that happened to
   * one of its locks at least, and the others were released.
   *
   * <p>A client hands a lock off only while at least two thirds of the lease's validity are left,
   * and within a third of a TTL of acquiring it from the store. So the store's last confirmation is
   * at most a third of the validity old. What has happened to the lock on the store since then is
   * found out by the next renewal or release.
   */
  HANDED_OFF,
  /**
   * The {@linkplain LockOptions#minHold() minimum hold} has not passed. The lease has ended; the
   * client keeps the lock until then, and frees it in the background. Of a {@link MultiLease}: that
   * happens to one of its locks at least.
   */
  DEFERRED,
  /** The lease had been lost before; nothing was, or had to be, released. */
  ALREADY_LOST,
  /**
   * The store did not confirm in time. The release is repeated in the background, and the lock is
   * free within the {@linkplain Lease#effectiveTtl() effective TTL} at the latest.
   */
  UNKNOWN
}
