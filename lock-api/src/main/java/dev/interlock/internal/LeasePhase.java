package dev.interlock.internal;

/** The phases of a {@link LeaseState}. */
enum LeasePhase {
  /** The program holds the lease. */
  HELD,
  /** The release has begun, and looks for a local waiter to hand the grant off to. */
  PASSING,
  /** The program has released the lease; the client keeps it until the minimum hold has passed. */
  KEPT,
  /** The release is in flight; only the answer can still show that the lease was lost. */
  RELEASING,
  /** The release has ended, on the store or by a handoff. */
  RELEASED,
  LOST;

  boolean isEnd() {
    return this == RELEASED || this == LOST;
  }
}
