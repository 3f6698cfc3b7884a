package dev.interlock.internal;

/** The phases of a {@link LeaseState}. */
enum LeasePhase {
  /** The program holds the lease. */
  HELD,
  /** Its release has begun, and looks for a local waiter to hand the grant off to. */
  PASSING,
  /** The program has released it; the client keeps it until its minimum hold has passed. */
  KEPT,
  /** Its release is in flight; only the answer can still show that it was lost. */
  RELEASING,
  /** Its release has ended, on the store or by a handoff. */
  RELEASED,
  LOST;

  boolean isEnd() {
    return this == RELEASED || this == LOST;
  }
}
