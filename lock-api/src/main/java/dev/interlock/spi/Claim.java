package dev.interlock.spi;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One attempt's identity on the store. The engine makes a new one for every attempt, and every
 * later request about that attempt (renewal, release, undo) must be guarded by it on the store, so
 * that a late or repeated request can never touch another acquisition.
 */
public final class Claim {

  private final String name;
  private final String id;
  private final Duration ttl;
  private final boolean autoRenew;
  private final String holder;
  private volatile @Nullable Object attachment;

  /**
   * Made by the engine, and by tests of backends.
   *
   * @param name the lock's name
   * @param id the attempt's identity: 27 random characters out of {@code A-Z a-z 0-9 - _}, which no
   *     other attempt of anybody will ever have
   * @param ttl for how long the store is to keep the lock without renewal
   * @param autoRenew whether the lease will be renewed until released
   * @param holder the label to be shown by {@code inspect}, without control characters
   */
  public Claim(String name, String id, Duration ttl, boolean autoRenew, String holder) {
    this.name = name;
    this.id = id;
    this.ttl = ttl;
    this.autoRenew = autoRenew;
    this.holder = holder;
  }

  /**
   * Returns the lock's name, 1 to 255 code points of well-formed Unicode.
   *
   * @return the lock's name
   */
  public String name() {
    return name;
  }

  /**
   * Returns the attempt's identity.
   *
   * @return the attempt's identity
   */
  public String id() {
    return id;
  }

  /**
   * Returns for how long the store is to keep the lock without renewal.
   *
   * @return the TTL
   */
  public Duration ttl() {
    return ttl;
  }

  /**
   * Returns whether the lease will be renewed until released.
   *
   * @return whether it will be renewed
   */
  public boolean autoRenew() {
    return autoRenew;
  }

  /**
   * Returns the label to be shown by {@code inspect}.
   *
   * @return the label
   */
  public String holder() {
    return holder;
  }

  /**
   * Keeps something of the backend's own with the claim, such as the path of its node.
   *
   * @param attachment anything, or null
   */
  public void attach(@Nullable Object attachment) {
    this.attachment = attachment;
  }

  /**
   * Returns what the backend attached last.
   *
   * @return the attachment, or null
   */
  public @Nullable Object attachment() {
    return attachment;
  }

  @Override
  public String toString() {
    return "Claim[" + name + " by " + holder + ", id " + id + "]";
  }
}
