package dev.interlock.spi;

import java.time.Duration;

/** How an attempt to get a lock ended. */
public sealed interface Attempt {

  /**
   * The lock is had.
   *
   * @param grant what was granted
   */
  record Granted(Grant grant) implements Attempt {}

  /**
   * Somebody else holds the lock, and nothing of this attempt remains on the store.
   *
   * @param pollInterval when it is worth looking again if nobody signals before, at the latest; for
   *     instance the remaining TTL of the holder
   */
  record Busy(Duration pollInterval) implements Attempt {}
}
