package dev.interlock.spi;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One attempt's identity on the store. The engine makes a new one for every attempt. The store must
 * compare it on every later request about that attempt (renewal, release, undo), so that a late or
 * repeated request can never touch another acquisition.
 */
public final class Claim {

  private final String name;
  private final String id;
  private final Duration ttl;
  private final boolean autoRenew;
  private final String holder;
  private final long issuedAt;
  private final Share share;
  private final Duration reservation;
  private volatile @Nullable Object attachment;

  /**
   * Makes a claim; for the engine, and for tests of backends.
   *
   * @param name the lock's name
   * @param id the attempt's identity: 27 random characters out of {@code A-Z a-z 0-9 - _}, unique
   *     among all attempts of all clients
   * @param ttl how long the store has to keep the lock without renewal
   * @param autoRenew whether the lease will be renewed until released
   * @param holder the label that {@code inspect} shows, without control characters
   * @param issuedAt the {@link TimeSource#nanoTime()} at which it is made
   */
  public Claim(
      String name, String id, Duration ttl, boolean autoRenew, String holder, long issuedAt) {
    this(name, id, ttl, autoRenew, holder, issuedAt, Share.EXCLUSIVE, Duration.ZERO);
  }

  /**
   * Makes a claim of any share.
   *
   * @param name the lock's name
   * @param id the attempt's identity, as above
   * @param ttl how long the store has to keep the lock without renewal
   * @param autoRenew whether the lease will be renewed until released
   * @param holder the label that {@code inspect} shows, without control characters
   * @param issuedAt the {@link TimeSource#nanoTime()} at which it is made
   * @param share how much of the name it takes
   * @param reservation see {@link #reservation()}
   */
  public Claim(
      String name,
      String id,
      Duration ttl,
      boolean autoRenew,
      String holder,
      long issuedAt,
      Share share,
      Duration reservation) {
    this.name = name;
    this.id = id;
    this.ttl = ttl;
    this.autoRenew = autoRenew;
    this.holder = holder;
    this.issuedAt = issuedAt;
    this.share = share;
    this.reservation = reservation;
  }

  /** {@return the lock's name, 1 to 255 code points of well-formed Unicode} */
  public String name() {
    return name;
  }

  /** {@return the attempt's identity} */
  public String id() {
    return id;
  }

  /** {@return how long the store has to keep the lock without renewal} */
  public Duration ttl() {
    return ttl;
  }

  /** {@return whether the lease will be renewed until released} */
  public boolean autoRenew() {
    return autoRenew;
  }

  /** {@return the label that {@code inspect} shows} */
  public String holder() {
    return holder;
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
    return share;
  }

  /**
   * {@return for how long a store without a queue has to remember, if it answers busy, that a claim
   * of this weight waits} During that time it grants nothing to lighter claims that would keep this
   * one waiting. Zero if the caller does not wait, or if the store has a queue. The waiter asks
   * again before the time has passed, with another identity.
   */
  public Duration reservation() {
    return reservation;
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
    return "Claim[" + name + " by " + holder + ", id " + id + "]";
  }
}
