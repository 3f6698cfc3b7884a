package dev.interlock;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The state of a lock as the store reported it; it may have changed since. For people and
 * diagnostics: never use it to decide whether you hold a lock.
 */
public final class LockState {

  private final String name;
  private final boolean held;
  private final @Nullable String holder;
  private final @Nullable Long token;
  private final @Nullable Duration remaining;
  private final @Nullable Instant heldSince;
  private final List<String> waiters;

  private LockState(
      String name,
      boolean held,
      @Nullable String holder,
      @Nullable Long token,
      @Nullable Duration remaining,
      @Nullable Instant heldSince,
      List<String> waiters) {
    this.name = name;
    this.held = held;
    this.holder = holder;
    this.token = token;
    this.remaining = remaining;
    this.heldSince = heldSince;
    this.waiters = List.copyOf(waiters);
  }

  /**
   * Returns the state of a lock that is free.
   *
   * @param name the lock's name
   * @return its state
   */
  public static LockState free(String name) {
    return new LockState(name, false, null, null, null, null, List.of());
  }

  /**
   * Returns the state of a lock that is held.
   *
   * @param name the lock's name
   * @param holder the holder's label, or null if the store does not keep it
   * @param token the fencing token of the server acquisition, or null if there is none
   * @param remaining how long the store will keep the lock without another renewal, or null if not
   *     known
   * @param waiters the labels of the waiters, in order; empty if the store keeps no queue
   * @return its state
   */
  public static LockState held(
      String name,
      @Nullable String holder,
      @Nullable Long token,
      @Nullable Duration remaining,
      List<String> waiters) {
    return new LockState(name, true, holder, token, remaining, null, waiters);
  }

  /**
   * Returns this state of a held lock with the time of its grant.
   *
   * @param since when the store granted the lock, by the store's clock
   * @return a new state
   */
  public LockState withHeldSince(Instant since) {
    return new LockState(name, held, holder, token, remaining, since, waiters);
  }

  /**
   * Returns this state of a held lock with another fencing token.
   *
   * @param other the token
   * @return a new state
   */
  public LockState withFencingToken(long other) {
    return new LockState(name, held, holder, other, remaining, heldSince, waiters);
  }

  /** {@return the lock's name} */
  public String name() {
    return name;
  }

  /** {@return whether the lock was held} */
  public boolean isHeld() {
    return held;
  }

  /**
   * Returns the {@linkplain LockOptions#holder() label} of the holder.
   *
   * @return the label, or empty if the lock is free or the store does not keep it
   */
  public Optional<String> holder() {
    return Optional.ofNullable(holder);
  }

  /**
   * Returns the fencing token with which the store granted the lock to the holder's process. The
   * tokens of threads to which that process hands the lock off are up to 63 higher.
   *
   * @return the token, or empty if the lock is free or the backend has no tokens
   */
  public OptionalLong fencingToken() {
    return token == null ? OptionalLong.empty() : OptionalLong.of(token);
  }

  /**
   * {@return how long the store will keep the lock without another renewal, or empty if it is free
   * or that is not known}
   */
  public Optional<Duration> remaining() {
    return Optional.ofNullable(remaining);
  }

  /**
   * Returns when the store granted the lock to the holder's process, by the store's clock. Neither
   * a renewal nor a handoff among that process's threads changes it.
   *
   * @return the time of the grant, or empty if the lock is free or the store does not record it
   */
  public Optional<Instant> heldSince() {
    return Optional.ofNullable(heldSince);
  }

  /**
   * {@return the labels of the waiters in the store's queue, the next first} Unmodifiable; empty if
   * there are none or the store keeps no queue. A client with several waiting threads may be in the
   * queue once for all of them.
   */
  public List<String> waiters() {
    return waiters;
  }

  @Override
  public String toString() {
    if (!held) {
      return "LockState[" + name + " free]";
    }
    return "LockState["
        + name
        + " held by "
        + holder
        + ", token "
        + token
        + ", remaining "
        + remaining
        + ", held since "
        + heldSince
        + ", waiters "
        + waiters
        + "]";
  }
}
