package dev.interlock;

/** The reason for which a lease ended without being released. More may be added. */
public enum LossReason {
  /** The validity passed: the lease was not renewed, or no renewal was confirmed in time. */
  EXPIRED,
  /**
   * The store reports that the lease no longer holds the lock, which was deleted, released by
   * force, or taken over.
   */
  TAKEN,
  /** The session with the store on which the lease depended has ended. */
  SESSION_ENDED,
  /** The {@linkplain LockOptions#maxHold() maximum hold time} was reached. */
  MAX_HOLD,
  /**
   * The machine slept: the wall clock advanced more than the monotonic clock, by more than the
   * remaining validity and by more than 100 ms.
   */
  SUSPENDED,
  /** The lease became unreachable without being released, so the client stopped renewing it. */
  ABANDONED,
  /** Another lease of the same {@link MultiLease} was lost. */
  MEMBER_LOST,
  /** The client was closed while the lease was held. */
  CLOSED
}
