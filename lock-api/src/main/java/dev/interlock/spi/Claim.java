package dev.interlock.spi;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One attempt's identity on the store. The engine makes a new one for every attempt. The store must
 * compare it on every later request about that attempt (renewal, release, undo), so that a late or
 * repeated request can never touch another acquisition.
 */
public final class Claim {

  private static final String DIGITS =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

  private final String name;

  /** The identity; or the part that it shares with others, if it has a number. */
  private final String series;

  /** The number in its series; negative if it is in none. */
  private final int number;

  private final Duration ttl;
  private final String label;
  private final long issuedAt;
  private final Kind kind;
  private volatile @Nullable Object attachment;

  /** What is the same for most claims, which share it. */
  private record Kind(boolean autoRenew, Share share, Duration reservation) {
    private static final Kind RENEWED = new Kind(true, Share.EXCLUSIVE, Duration.ZERO);
    private static final Kind FIXED = new Kind(false, Share.EXCLUSIVE, Duration.ZERO);

    static Kind of(boolean autoRenew, Share share, Duration reservation) {
      Kind usual = autoRenew ? RENEWED : FIXED;
      return share.equals(usual.share) && reservation.isZero()
          ? usual
          : new Kind(autoRenew, share, reservation);
    }
  }

  /**
   * Makes a claim; for the engine, and for tests of backends.
   *
   * @param name the lock's name
   * @param id the attempt's identity: 27 random characters out of {@code A-Z a-z 0-9 - _}, unique
   *     among all attempts of all clients
   * @param ttl how long the store has to keep the lock without renewal
   * @param autoRenew whether the lease will be renewed until released
   * @param label the label that {@code inspect} shows, without control characters
   * @param issuedAt the {@link TimeSource#nanoTime()} at which it is made
   */
  public Claim(
      String name, String id, Duration ttl, boolean autoRenew, String label, long issuedAt) {
    this(name, id, ttl, autoRenew, label, issuedAt, Share.EXCLUSIVE, Duration.ZERO);
  }

  /**
   * Makes a claim of any share.
   *
   * @param name the lock's name
   * @param id the attempt's identity, as above
   * @param ttl how long the store has to keep the lock without renewal
   * @param autoRenew whether the lease will be renewed until released
   * @param label the label that {@code inspect} shows, without control characters
   * @param issuedAt the {@link TimeSource#nanoTime()} at which it is made
   * @param share how much of the name it takes
   * @param reservation see {@link #reservation()}
   */
  public Claim(
      String name,
      String id,
      Duration ttl,
      boolean autoRenew,
      String label,
      long issuedAt,
      Share share,
      Duration reservation) {
    this(name, id, -1, ttl, autoRenew, label, issuedAt, share, reservation);
  }

  private Claim(
      String name,
      String series,
      int number,
      Duration ttl,
      boolean autoRenew,
      String label,
      long issuedAt,
      Share share,
      Duration reservation) {
    this.name = name;
    this.series = series;
    this.number = number;
    this.ttl = ttl;
    this.label = label;
    this.issuedAt = issuedAt;
    this.kind = Kind.of(autoRenew, share, reservation);
  }

  /**
   * Makes a claim whose identity consists of a series, a number in that, and the last 36 bits of
   * the time at which it is made. The identity is only rendered when asked for, as most of what is
   * held is never asked for it again.
   *
   * @param name the lock's name
   * @param series 16 random characters out of those of an identity
   * @param number the number in the series, from 0 on and below 2<sup>30</sup>
   * @param ttl how long the store has to keep the lock without renewal
   * @param autoRenew whether the lease will be renewed until released
   * @param label the label that {@code inspect} shows, without control characters
   * @param issuedAt the {@link TimeSource#nanoTime()} at which it is made
   * @param share how much of the name it takes
   * @param reservation see {@link #reservation()}
   * @return the claim
   */
  public static Claim inSeries(
      String name,
      String series,
      int number,
      Duration ttl,
      boolean autoRenew,
      String label,
      long issuedAt,
      Share share,
      Duration reservation) {
    return new Claim(name, series, number, ttl, autoRenew, label, issuedAt, share, reservation);
  }

  /** {@return the lock's name, 1 to 255 code points of well-formed Unicode} */
  public String name() {
    return name;
  }

  /** {@return the attempt's identity} */
  public String id() {
    return number < 0
        ? series
        // One expression, so that only the result is allocated.
        : series
            + digit(number >>> 24)
            + digit(number >>> 18)
            + digit(number >>> 12)
            + digit(number >>> 6)
            + digit(number)
            + digit(issuedAt >>> 30)
            + digit(issuedAt >>> 24)
            + digit(issuedAt >>> 18)
            + digit(issuedAt >>> 12)
            + digit(issuedAt >>> 6)
            + digit(issuedAt);
  }

  /**
   * {@return the identity of the hold after {@link LockBackend#releaseAfter}} No claim has it, so
   * no request for a claim touches the hold. It is the claim's identity backwards: as unique, of
   * the same form, and the same each time.
   */
  public String deferredId() {
    return new StringBuilder(id()).reverse().toString();
  }

  private static char digit(long bits) {
    return DIGITS.charAt((int) (bits & 63));
  }

  /**
   * {@return whether the other has the same identity}
   *
   * @param other another claim, or the same
   */
  public boolean isSame(Claim other) {
    return this == other || id().equals(other.id());
  }

  /** {@return how long the store has to keep the lock without renewal} */
  public Duration ttl() {
    return ttl;
  }

  /** {@return whether the lease will be renewed until released} */
  public boolean autoRenew() {
    return kind.autoRenew;
  }

  /** {@return the label that {@code inspect} shows} */
  public String label() {
    return label;
  }

  /**
   * {@return the {@link TimeSource#nanoTime()} at which it was made} No request of the attempt was
   * sent before.
   */
  public long issuedAt() {
    return issuedAt;
  }

  /**
   * {@return how much of the name it takes} {@link Share#EXCLUSIVE} unless the backend has {@link
   * dev.interlock.Capability#READ_WRITE} or {@link dev.interlock.Capability#SEMAPHORE}.
   */
  public Share share() {
    return kind.share;
  }

  /**
   * {@return for how long a store without a queue has to remember, if it answers busy, that a claim
   * of this weight waits} During that time it grants nothing to lighter claims that would keep this
   * one waiting. A store may also serve exclusive claims in the order in which they began to wait.
   * Zero if the caller does not wait, or if the store has a queue. The waiter asks again before the
   * time has passed, with another identity; but if it is less than a millisecond, this is its last
   * attempt, which comes for what is reserved for it.
   */
  public Duration reservation() {
    return kind.reservation;
  }

  /**
   * Keeps an object of the backend with the claim, such as the path of its node.
   *
   * @param attachment anything, or null
   */
  public void attach(@Nullable Object attachment) {
    this.attachment = attachment;
  }

  /** {@return what the backend attached last, or null} */
  public @Nullable Object attachment() {
    return attachment;
  }

  @Override
  public String toString() {
    return "Claim[" + name + " by " + label + ", id " + id() + "]";
  }
}
