package dev.interlock.spi;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** How an attempt to acquire a lock ended. */
public sealed interface Attempt {

  /**
   * The lock was granted.
   *
   * @param grant what was granted
   */
  record Granted(Grant grant) implements Attempt {}

  /**
   * Another claim holds the lock, and nothing of this attempt remains on the store.
   *
   * @param retryAfter after how long to try again at the latest, without a signal; for instance the
   *     remaining TTL of the holder
   * @param holder the holder's label, if the store's answer has it anyway; for events and messages
   */
  record Busy(Duration retryAfter, @Nullable String holder) implements Attempt {

    /**
     * Another claim holds the lock, and the store's answer does not say whose.
     *
     * @param retryAfter after how long to try again at the latest, without a signal
     */
    public Busy(Duration retryAfter) {
      this(retryAfter, null);
    }
  }
}
