package dev.interlock.storm.workers;

import dev.interlock.tck.history.Event;

/**
 * What a client records beside the {@link Event}s of its leases. Times are those of {@link
 * System#nanoTime()}.
 */
public sealed interface Entry {

  /** The loss of a lease was reported. */
  record LossReported(String lease, long at, String reason) implements Entry {}

  /** The loss of a lease was not reported within bound, although it says that it is not held. */
  record LossNotReported(String lease, long unheldAt) implements Entry {}

  /** A lease was released. */
  record Released(String lease, String outcome) implements Entry {}

  /** A renewal that the program asked for was confirmed. */
  record Renewed(String lease) implements Entry {}

  /** A lease was left to expire on purpose. */
  record Abandoned(String lease) implements Entry {}

  /** An attempt ended without a lease. */
  record NoLease(Why why, String name, long requestedAt, long at) implements Entry {}

  /** Why there was no lease. */
  enum Why {
    /** Another client held the lock for the whole time. */
    BUSY,
    /** The store could not be reached. */
    UNAVAILABLE,
    /** The attempt was cancelled. */
    CANCELLED
  }

  /** How long the store keeps a lease without renewal. */
  record EffectiveTtl(long nanos) implements Entry {}

  /** Threads and connections of this process at a calm moment. */
  record Size(int threads, int connections) implements Entry {}

  /** The client itself saw that a rule was broken. */
  record Broken(String rule, String what) implements Entry {}
}
