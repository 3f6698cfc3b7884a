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
   * @param retryAfter when to try again without a signal, at the latest; for instance after the
   *     remaining TTL of the holder
   * @param holder the holder's label, if the store's answer includes it; for events and messages
   */
  record Busy(Duration retryAfter, @Nullable String holder) implements Attempt {

    /**
     * Another claim holds the lock, and the store's answer does not include the holder.
     *
     * @param retryAfter when to try again without a signal, at the latest
     */
    public Busy(Duration retryAfter) {
      this(retryAfter, null);
    }
  }
}
