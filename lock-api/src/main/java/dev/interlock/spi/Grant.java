package dev.interlock.spi;

import java.time.Duration;

/**
 * A lock that the store granted to one {@link Claim}.
 *
 * @param claim the attempt that succeeded
 * @param token the store's fencing token: positive, below 2<sup>57</sup>, and higher than that of
 *     every earlier grant of this name; 0 without {@link dev.interlock.Capability#FENCING}.
 *     Programs see it multiplied by {@link #LEASES_PER_GRANT}, which leaves room to count local
 *     handoffs
 * @param validUntil the time until which the grant is certain, by {@link TimeSource#nanoTime()},
 *     counted from before the request that acquired it was sent
 * @param effectiveTtl how long the store keeps the lock without renewal, at least the claim's TTL
 * @param validityPerConfirmation for how long a confirmation by the store makes the grant certain,
 *     counted from before its request was sent: the effective TTL, or less if the session ends
 *     sooner. The engine renews three times in that time
 * @param expiresOnStore whether the lock expires on the store if it is not renewed for a TTL. False
 *     if it lasts as long as a session of the client. The engine then renews it until its end, even
 *     if the program asked for a fixed TTL, and releases it
 */
public record Grant(
    Claim claim,
    long token,
    long validUntil,
    Duration effectiveTtl,
    Duration validityPerConfirmation,
    boolean expiresOnStore) {

  /**
   * The maximum number of leases that share a grant by handoffs within a client. The fencing token
   * of a lease is the store's token times this number, plus the number of handoffs before it.
   */
  public static final int LEASES_PER_GRANT = 64;

  /** The error of two roundings to whole milliseconds. */
  private static final long ROUNDING_NANOS = 2_000_000;

  /** A thousandth is twice the maximum rate at which NTP slews a clock. */
  private static final int DRIFT_DIVISOR = 1000;

  /**
   * Returns the usual grant: the store keeps it for exactly the claim's TTL.
   *
   * @param claim the attempt that succeeded
   * @param token the store's fencing token, or 0
   * @return the grant, as {@link #forTtl(Claim, long, Duration)} describes it
   */
  public static Grant forTtl(Claim claim, long token) {
    return forTtl(claim, token, claim.ttl());
  }

  /**
   * Returns the grant of a store that measures the TTL from the execution of the request, on its
   * own clock.
   *
   * <p>The grant is certain for the claim's TTL, or for the effective TTL minus a thousandth and 2
   * ms if that is shorter. This time starts at {@link Claim#issuedAt()}, and again with each
   * confirmed renewal. The thousandth allows for clocks that run at different speeds, the 2 ms for
   * stores that count whole milliseconds.
   *
   * @param claim the attempt that succeeded
   * @param token the store's fencing token, or 0
   * @param effectiveTtl how long the store keeps it
   * @return the grant
   */
  public static Grant forTtl(Claim claim, long token, Duration effectiveTtl) {
    long kept = effectiveTtl.toNanos();
    long certain = kept - kept / DRIFT_DIVISOR - ROUNDING_NANOS;
    Duration validity = certain < claim.ttl().toNanos() ? Duration.ofNanos(certain) : claim.ttl();
    return new Grant(
        claim, token, claim.issuedAt() + validity.toNanos(), effectiveTtl, validity, true);
  }

  /**
   * Returns a grant that lasts as long as the client's session.
   *
   * @param claim the attempt that succeeded
   * @param token the store's fencing token, or 0
   * @param confirmedAt the {@link TimeSource#nanoTime()} before the last request whose answer
   *     confirmed the session
   * @param validityPerConfirmation for how long such an answer makes the session certain
   * @param sessionTimeout the time without an answer after which the store may end the session
   * @return a grant whose effective TTL is the larger of the claim's TTL and the session time-out
   */
  public static Grant onSession(
      Claim claim,
      long token,
      long confirmedAt,
      Duration validityPerConfirmation,
      Duration sessionTimeout) {
    Duration ttl = claim.ttl();
    return new Grant(
        claim,
        token,
        confirmedAt + validityPerConfirmation.toNanos(),
        ttl.compareTo(sessionTimeout) < 0 ? sessionTimeout : ttl,
        validityPerConfirmation,
        false);
  }

  /**
   * Returns this grant with its validity counted from a request of the claim other than the first.
   * For backends with a queue, whose claims may be older than their TTL when they are granted.
   *
   * @param sentAt the {@link TimeSource#nanoTime()} before the request that was granted
   * @return the grant
   */
  public Grant countedFrom(long sentAt) {
    return validUntil(sentAt + validityPerConfirmation.toNanos());
  }

  /**
   * Returns this grant with another end of its validity.
   *
   * @param validUntil the time until which it is certain
   * @return the grant
   */
  public Grant validUntil(long validUntil) {
    return new Grant(
        claim, token, validUntil, effectiveTtl, validityPerConfirmation, expiresOnStore);
  }
}
