package dev.interlock;

/** What is known after {@link Lease#release()}. */
public enum ReleaseOutcome {
  /** The store confirmed that this lease held the lock until now, and that it is given up. */
  RELEASED,
  /** The lease had been lost before; nothing was, or had to be, given up. */
  ALREADY_LOST,
  /**
   * The store did not confirm in time. The release goes on behind the scenes, and the lock is free
   * within the {@linkplain Lease#effectiveTerm() effective term} at the latest.
   */
  UNKNOWN
}
