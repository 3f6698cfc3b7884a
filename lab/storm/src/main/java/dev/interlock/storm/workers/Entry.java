package dev.interlock.storm.workers;

import dev.interlock.tck.history.Event;

/**
 * An entry that a client records beside the {@link Event}s of its leases. Times are those of {@link
 * System#nanoTime()}.
 */
public sealed interface Entry {

  /** The loss of a lease was reported. */
  record LossReported(String lease, long at, String reason) implements Entry {}

  /** A lease was no longer held, but its loss was not reported within the bound. */
  record LossNotReported(String lease, long unheldAt) implements Entry {}

  /** A lease was released. */
  record Released(String lease, String outcome) implements Entry {}

  /** A renewal that the program asked for was confirmed. */
  record Renewed(String lease) implements Entry {}

  /** A lease was left to expire on purpose. */
  record Abandoned(String lease) implements Entry {}

  /** An attempt ended without a lease. */
  record NoLease(Why why, String name, long requestedAt, long at) implements Entry {}

  /** The reason for an attempt without a lease. */
  enum Why {
    /** Another client held the lock for the whole time. */
    BUSY,
    /** The store could not be reached. */
    UNAVAILABLE,
    /** The attempt was cancelled. */
    CANCELLED
  }

  /** The time for which the store keeps a lease without renewal. */
  record EffectiveTtl(long nanos) implements Entry {}

  /** The number of threads and connections of this process. */
  record Size(int threads, int connections) implements Entry {}

  /** The client itself noticed that a rule was broken. */
  record RuleBroken(String rule, String what) implements Entry {}
}
