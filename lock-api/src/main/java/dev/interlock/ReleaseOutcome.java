package dev.interlock;

/** What is known after {@link Lease#release()}. */
public enum ReleaseOutcome {
  /**
   * The lease is given up, and was not known to be lost. Either the store confirmed that it held
   * the lock until now; or the lock was passed to a waiter of the same client without asking the
   * store, which knows nothing of that. A client passes a lock on only while at least two thirds of
   * the lease's validity are left, and within a third of a TTL of acquiring it from the store: so
   * the store's last confirmation is at most a third of the validity old, and what has happened to
   * the lock on the store since then is found out by the next renewal or release.
   */
  RELEASED,
  /** The lease had been lost before; nothing was, or had to be, given up. */
  ALREADY_LOST,
  /**
   * The store did not confirm in time. The release goes on behind the scenes, and the lock is free
   * within the {@linkplain Lease#effectiveTtl() effective TTL} at the latest.
   */
  UNKNOWN
}
