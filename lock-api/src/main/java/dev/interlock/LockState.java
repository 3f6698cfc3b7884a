package dev.interlock;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The state of one lock that the store reported at one moment; it may have changed since. For
 * people and diagnostics, never for deciding whether one holds a lock.
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
   * @param remaining how long the store would wait for a renewal from now on, or null if it does
   *     not say
   * @param waiters the labels of those that stand in line, in order; empty if the store keeps no
   *     line
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
   * Returns this state of a held lock with the time since when it is held.
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
   * Returns the fencing token with which the store granted the lock to the holder's process. While
   * that process hands the lock over among its own threads, their tokens are up to 63 above it.
   *
   * @return the token, or empty if the lock is free or the backend has no tokens
   */
  public OptionalLong fencingToken() {
    return token == null ? OptionalLong.empty() : OptionalLong.of(token);
  }

  /**
   * {@return how long the lock would remain held without renewal, or empty if it is free or the
   * store does not say}
   */
  public Optional<Duration> remaining() {
    return Optional.ofNullable(remaining);
  }

  /**
   * Returns since when the holder's process has had the lock, by the store's clock. Renewals do not
   * change it, nor does a handoff among that process's threads.
   *
   * @return the time of the grant, or empty if the lock is free or the store does not know
   */
  public Optional<Instant> heldSince() {
    return Optional.ofNullable(heldSince);
  }

  /**
   * {@return the labels of the waiters that the store keeps in line, the next first} Unmodifiable;
   * empty if there are none or the store keeps no line. A client whose threads wait for the same
   * lock may be in line once for all of them.
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
