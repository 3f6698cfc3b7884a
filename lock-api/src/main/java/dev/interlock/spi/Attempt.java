package dev.interlock.spi;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

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
   * @param holder the holder's label, if the store's answer has it anyway; for events and messages
   */
  record Busy(Duration pollInterval, @Nullable String holder) implements Attempt {

    /**
     * Somebody else holds the lock, and the store's answer does not say who.
     *
     * @param pollInterval when it is worth looking again if nobody signals before, at the latest
     */
    public Busy(Duration pollInterval) {
      this(pollInterval, null);
    }
  }
}
