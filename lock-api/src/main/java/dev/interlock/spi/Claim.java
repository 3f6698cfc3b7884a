package dev.interlock.spi;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The identity of one attempt on the store. The engine creates a new claim for every attempt. The
 * store must compare the claim on every later request about that attempt (renewal, release, undo),
 * so that a late or repeated request never affects another acquisition.
 */
public final class Claim {

  private static final String DIGITS =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

  private final String name;

  /** The whole identity; or the part that the claims of a series share. */
  private final String series;

  /** The number in its series; negative without a series. */
  private final int number;

  private final Duration ttl;
  private final String label;
  private final long issuedAt;
  private final Kind kind;
  private volatile @Nullable Object attachment;

  /** The properties that most claims have in common, in a shared object. */
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
   * Creates a claim of an exclusive lock. For the engine, and for tests of backends.
   *
   * @param name the lock's name
   * @param id the attempt's identity: 27 random characters of {@code A-Z a-z 0-9 - _}, unique among
   *     all attempts of all clients
   * @param ttl how long the store has to keep the lock without renewal
   * @param autoRenew whether the lease will be renewed until released
   * @param label the label that {@code inspect} shows, without control characters
   * @param issuedAt the {@link TimeSource#nanoTime()} of its creation
   */
  public Claim(
      String name, String id, Duration ttl, boolean autoRenew, String label, long issuedAt) {
    this(name, id, ttl, autoRenew, label, issuedAt, Share.EXCLUSIVE, Duration.ZERO);
  }

  /**
   * Creates a claim of any share.
   *
   * @param name the lock's name
   * @param id the attempt's identity, as above
   * @param ttl how long the store has to keep the lock without renewal
   * @param autoRenew whether the lease will be renewed until released
   * @param label the label that {@code inspect} shows, without control characters
   * @param issuedAt the {@link TimeSource#nanoTime()} of its creation
   * @param share how much of the name it asks for
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
   * Creates a claim whose identity consists of a series, a number in that series, and the last 36
   * bits of the time of its creation. The text of the identity is only made on request, because
   * most claims that are held never need it again.
   *
   * @param name the lock's name
   * @param series 16 random characters of those of an identity
   * @param number the number in the series, from 0 and below 2<sup>30</sup>
   * @param ttl how long the store has to keep the lock without renewal
   * @param autoRenew whether the lease will be renewed until released
   * @param label the label that {@code inspect} shows, without control characters
   * @param issuedAt the {@link TimeSource#nanoTime()} of its creation
   * @param share how much of the name it asks for
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
   * {@return the identity of the hold after {@link LockBackend#releaseAfter}} No claim has this
   * identity, so no request for a claim affects the hold. It is the claim's identity backwards,
   * which is as unique and of the same form.
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
   * {@return the {@link TimeSource#nanoTime()} of its creation} No request of the attempt was sent
   * before.
   */
  public long issuedAt() {
    return issuedAt;
  }

  /**
   * {@return how much of the name it asks for} {@link Share#EXCLUSIVE} unless the backend has
   * {@link dev.interlock.Capability#READ_WRITE} or {@link dev.interlock.Capability#SEMAPHORE}.
   */
  public Share share() {
    return kind.share;
  }

  /**
   * {@return for how long a store without a queue has to remember, after it has answered busy, that
   * a claim of this weight waits} Zero if the caller does not wait, or if the store has a queue.
   *
   * <p>While claims of a weight wait, the store refuses each claim that would leave no room for
   * them, unless claims of its own weight have waited for longer. This also applies to claims of
   * callers that do not wait. A grant ends this precedence of its weight: at once if there is no
   * room for another claim of the weight, otherwise within a second. Exclusive claims all have the
   * same weight and need none of this; a store may serve them in the order in which they began to
   * wait.
   *
   * <p>The waiter asks again before the time has passed, with another identity. But a time of less
   * than a millisecond marks its last attempt, which only takes what is reserved for it.
   */
  public Duration reservation() {
    return kind.reservation;
  }

  /**
   * Attaches an object of the backend to the claim, such as the path of its node.
   *
   * @param attachment anything, or null
   */
  public void attach(@Nullable Object attachment) {
    this.attachment = attachment;
  }

  /** {@return the object that the backend attached last, or null} */
  public @Nullable Object attachment() {
    return attachment;
  }

  @Override
  public String toString() {
    return "Claim[" + name + " by " + label + ", id " + id() + "]";
  }
}
