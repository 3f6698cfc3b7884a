package dev.interlock;

import java.time.Duration;
import java.time.Instant;
import java.util.OptionalLong;

/**
 * What {@link LockClient#held()} shows of a lease. Immutable: a snapshot, not the lease. Further
 * accessors may be added in any release.
 */
public interface LeaseInfo {

  /** {@return the lock's name} */
  String name();

  /** {@return the lease's fencing token, or empty if the backend has none} */
  OptionalLong fencingToken();

  /** {@return for how much longer the lease was certain without another renewal} */
  Duration remainingValidity();

  /** {@return when the lock was acquired, by the local wall clock} */
  Instant since();

  /** {@return the {@linkplain LockOptions#holder() label} of the holder} */
  String holder();
}
