package dev.interlock;

import java.time.Duration;
import java.time.Instant;
import java.util.OptionalLong;

/**
 * A snapshot of a lease, from {@link LockClient#leases()}. Immutable. Further accessors may be
 * added in any release.
 */
public interface LeaseInfo {

  /** {@return the lock's name} */
  String name();

  /** {@return the kind of lock} */
  LockKind kind();

  /** {@return the lease's fencing token, or empty if the backend has none} */
  OptionalLong fencingToken();

  /** {@return how much longer the lease was certainly held if no further renewal is confirmed} */
  Duration remainingValidity();

  /** {@return when the lock was acquired, by the local wall clock} */
  Instant heldSince();

  /** {@return how long the lease has been held, by the monotonic clock} */
  Duration heldFor();

  /** {@return the {@linkplain LockOptions#label() label} of the holder} */
  String label();
}
