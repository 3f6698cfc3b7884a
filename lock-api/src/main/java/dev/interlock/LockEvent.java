package dev.interlock;

import java.time.Duration;

/** Something that happened to a lease. */
public sealed interface LockEvent {

  /**
   * Returns the lock's name.
   *
   * @return the lock's name
   */
  String name();

  /**
   * Returns the lease's fencing token, or 0 if the backend has none.
   *
   * @return the token or 0
   */
  long token();

  /**
   * The lock was had.
   *
   * @param name the lock's name
   * @param token the lease's fencing token, or 0
   */
  record Acquired(String name, long token) implements LockEvent {}

  /**
   * A renewal was confirmed.
   *
   * @param name the lock's name
   * @param token the lease's fencing token, or 0
   */
  record Renewed(String name, long token) implements LockEvent {}

  /**
   * A renewal failed, or none was confirmed for two thirds of the validity; the lease will be lost
   * when its validity ends unless a later one succeeds. Told once until a renewal succeeds again,
   * and logged as a warning.
   *
   * @param name the lock's name
   * @param token the lease's fencing token, or 0
   * @param remaining the validity left
   * @param problem what went wrong
   */
  record AtRisk(String name, long token, Duration remaining, LockException problem)
      implements LockEvent {}

  /**
   * The lease was lost. Told once, and logged as a warning.
   *
   * @param name the lock's name
   * @param token the lease's fencing token, or 0
   * @param loss why
   */
  record Lost(String name, long token, LeaseLostException loss) implements LockEvent {}

  /**
   * The lease was released.
   *
   * @param name the lock's name
   * @param token the lease's fencing token, or 0
   * @param outcome what is known about it: {@link ReleaseOutcome#RELEASED} or {@link
   *     ReleaseOutcome#UNKNOWN}
   */
  record Released(String name, long token, ReleaseOutcome outcome) implements LockEvent {}
}
