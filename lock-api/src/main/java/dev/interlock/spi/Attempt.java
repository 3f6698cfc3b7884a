package dev.interlock.spi;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/** The outcome of an attempt to acquire a lock. */
public sealed interface Attempt {

  /**
   * The lock was granted.
   *
   * @param grant the grant
   */
  record Granted(Grant grant) implements Attempt {

    /**
     * The lock was granted for the claim's TTL; the engine computes how long that is certain. Not
     * for a {@link QueueingBackend.Place}, whose claim may be older than its TTL; see {@link
     * Grant#countedFrom}.
     *
     * @param claim the attempt
     * @param token the store's fencing token, or 0 without {@link dev.interlock.Capability#FENCING}
     */
    public Granted(Claim claim, long token) {
      this(Grant.forTtl(claim, token));
    }
  }

  /**
   * Another claim holds the lock or comes first, and nothing of this attempt remains on the store,
   * except for what {@link Claim#reservation()} describes.
   *
   * @param retryAfter the time after which to try again at the latest, if there is no signal; for
   *     example the remaining TTL of the holder
   * @param holder the holder's label, if the store's answer includes it; for events and messages
   */
  record Busy(Duration retryAfter, @Nullable String holder) implements Attempt {

    /** Another claim holds the lock; the client polls at its own interval. */
    public Busy() {
      this(ChronoUnit.FOREVER.getDuration());
    }

    /**
     * Another claim holds the lock, and the store's answer does not include the holder.
     *
     * @param retryAfter the time after which to try again at the latest, if there is no signal
     */
    public Busy(Duration retryAfter) {
      this(retryAfter, null);
    }
  }
}
