package dev.interlock;

import java.time.Duration;

/**
 * A snapshot of an acquisition that waits, from {@link LockClient#waiters()}. Immutable. Further
 * accessors may be added in any release.
 */
public interface WaiterInfo {

  /** {@return the name of the lock that it waits for; for a set, the one that it waits for now} */
  String name();

  /** {@return the kind of lock} */
  LockKind kind();

  /** {@return the time since the call, by the monotonic clock} */
  Duration waited();

  /** {@return the {@linkplain LockOptions#label() label} of the waiter} */
  String label();
}
