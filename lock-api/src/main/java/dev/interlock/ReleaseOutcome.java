package dev.interlock;

/** The outcome of {@link Lease#release()}, as far as it is known. More may be added. */
public enum ReleaseOutcome {
  /** The store confirmed that the lease held the lock until now, and that the lock is released. */
  RELEASED,
  /**
   * The lock was handed off to a waiter of the same client, without a request to the store. The
   * client knew of no loss, and the store confirmed nothing. For a {@link MultiLease}, at least one
   * of its locks was handed off, and the others were released.
   *
   * <p>A client hands a lock off only while at least two thirds of the lease's validity remain, and
   * within a third of a TTL after acquiring it from the store. So the store's last confirmation is
   * at most a third of the validity old. If the store has lost the lock since then, the next
   * renewal or release detects it.
   *
   * <p>A reader also gets this outcome while other readers of its client have the same grant; the
   * last of them releases it.
   */
  HANDED_OFF,
  /**
   * The lease has ended, but the lock stays taken until its {@linkplain LockOptions#minHold()
   * minimum hold} has passed. With {@link Capability#DEFERRED_RELEASE} the store then frees the
   * lock, otherwise the client in the background. For a {@link MultiLease}, this applies to at
   * least one of its locks.
   */
  DEFERRED,
  /** The lease had been lost before, so there was nothing to release. */
  ALREADY_LOST,
  /**
   * The store did not confirm the release in time. The client repeats it in the background, and the
   * lock is free within the {@linkplain Lease#effectiveTtl() effective TTL} at the latest.
   */
  UNKNOWN
}
