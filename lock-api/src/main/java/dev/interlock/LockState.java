package dev.interlock;

import static dev.interlock.internal.Arguments.checkArgument;

import com.google.errorprone.annotations.CheckReturnValue;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The state of a lock as the store reported it; it may have changed since. For people and
 * diagnostics: never use it to decide whether you hold a lock.
 *
 * <p>An exclusive lock has at most one {@linkplain #holders() holder}. Where several hold a name
 * together, {@link #holder()}, {@link #fencingToken()}, {@link #remaining()} and {@link
 * #heldSince()} are those of the first in the list.
 */
@CheckReturnValue
public final class LockState {

  private final String name;
  private final @Nullable LockKind kind;
  private final int capacity;
  private final List<Holder> holders;
  private final List<String> waiters;

  private LockState(
      String name,
      @Nullable LockKind kind,
      int capacity,
      List<Holder> holders,
      List<String> waiters) {
    this.name = name;
    this.kind = kind;
    this.capacity = capacity;
    this.holders = List.copyOf(holders);
    this.waiters = List.copyOf(waiters);
  }

  /**
   * Returns the state of a lock that is free.
   *
   * @param name the lock's name
   * @return its state
   */
  public static LockState free(String name) {
    return new LockState(name, null, 0, List.of(), List.of());
  }

  /**
   * Returns the state of an exclusive lock that is held.
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
    Holder only = new Holder(holder, 1, token, remaining, null);
    return held(name, LockKind.EXCLUSIVE, 1, List.of(only), waiters);
  }

  /**
   * Returns the state of a name that is held, of any kind.
   *
   * @param name the lock's name
   * @param kind what it is used as
   * @param capacity a semaphore's limit; for other kinds {@code Share.capacity()}
   * @param holders who holds it, in the order of their grants, at least one
   * @param waiters the labels of the waiters, in order; empty if the store keeps no queue
   * @return its state
   * @throws IllegalArgumentException if there are no holders
   */
  public static LockState held(
      String name, LockKind kind, int capacity, List<Holder> holders, List<String> waiters) {
    checkArgument(!holders.isEmpty(), "a held name needs at least one holder");
    return new LockState(name, kind, capacity, holders, waiters);
  }

  /**
   * Returns this state of a held lock with the time of its first holder's grant.
   *
   * @param since when the store granted the lock, by the store's clock
   * @return a new state
   */
  public LockState withHeldSince(Instant since) {
    return withFirst(first -> first.withHeldSince(since));
  }

  /**
   * Returns this state of a held lock with another fencing token for its first holder.
   *
   * @param other the token
   * @return a new state
   */
  public LockState withFencingToken(long other) {
    return withFirst(first -> first.withFencingToken(other));
  }

  private LockState withFirst(Function<Holder, Holder> change) {
    List<Holder> changed = new ArrayList<>(holders);
    if (!changed.isEmpty()) {
      changed.set(0, change.apply(changed.get(0)));
    }
    return new LockState(name, kind, capacity, changed, waiters);
  }

  /**
   * Returns this state with all holders changed.
   *
   * @param change makes another holder from each
   * @return a new state
   */
  public LockState withHolders(Function<Holder, Holder> change) {
    return new LockState(name, kind, capacity, holders.stream().map(change).toList(), waiters);
  }

  /** {@return the lock's name} */
  public String name() {
    return name;
  }

  /** {@return whether the lock was held} */
  public boolean isHeld() {
    return !holders.isEmpty();
  }

  /** {@return what the name is used as, or empty if it is free} */
  public Optional<LockKind> kind() {
    return Optional.ofNullable(kind);
  }

  /** {@return the limit of a semaphore that is held; 0 for other kinds, and if it is free} */
  public int limit() {
    return kind == LockKind.SEMAPHORE ? capacity : 0;
  }

  /**
   * {@return the holders of the name, in the order of their grants} Unmodifiable; empty if it is
   * free. Threads of one client that read together may appear as one holder.
   */
  public List<Holder> holders() {
    return holders;
  }

  private Optional<Holder> first() {
    return holders.stream().findFirst();
  }

  /**
   * Returns the {@linkplain LockOptions#holder() label} of the holder.
   *
   * @return the label, or empty if the lock is free or the store does not keep it
   */
  public Optional<String> holder() {
    return first().flatMap(Holder::label);
  }

  /**
   * Returns the fencing token with which the store granted the lock to the holder's process. The
   * tokens of threads to which that process hands the lock off are up to 63 higher.
   *
   * @return the token, or empty if the lock is free or the backend has no tokens
   */
  public OptionalLong fencingToken() {
    return first().map(Holder::fencingToken).orElseGet(OptionalLong::empty);
  }

  /**
   * {@return how long the store will keep the lock without another renewal, or empty if it is free
   * or that is not known}
   */
  public Optional<Duration> remaining() {
    return first().flatMap(Holder::remaining);
  }

  /**
   * Returns when the store granted the lock to the holder's process, by the store's clock. Neither
   * a renewal nor a handoff among that process's threads changes it.
   *
   * @return the time of the grant, or empty if the lock is free or the store does not record it
   */
  public Optional<Instant> heldSince() {
    return first().flatMap(Holder::heldSince);
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
    return "LockState["
        + name
        + (isHeld() ? " held as " + kind + " by " + holders + ", waiters " + waiters : " free")
        + "]";
  }

  /** A holder of a name, alone or together with others. */
  @CheckReturnValue
  public static final class Holder {

    private final @Nullable String label;
    private final int weight;
    private final @Nullable Long token;
    private final @Nullable Duration remaining;
    private final @Nullable Instant heldSince;

    /**
     * Makes a holder; for backends.
     *
     * @param label its label, or null if the store does not keep it
     * @param weight how much of the name it holds, see {@code Share.weight()}
     * @param token its fencing token, or null if there is none
     * @param remaining how long the hold lasts without another renewal, or null if not known
     * @param heldSince when the store granted it, by the store's clock, or null if not recorded
     */
    public Holder(
        @Nullable String label,
        int weight,
        @Nullable Long token,
        @Nullable Duration remaining,
        @Nullable Instant heldSince) {
      this.label = label;
      this.weight = weight;
      this.token = token;
      this.remaining = remaining;
      this.heldSince = heldSince;
    }

    /**
     * Returns this holder with another fencing token.
     *
     * @param other the token
     * @return a new holder
     */
    public Holder withFencingToken(long other) {
      return new Holder(label, weight, other, remaining, heldSince);
    }

    /**
     * Returns this holder with the time of its grant.
     *
     * @param since when the store granted it, by the store's clock
     * @return a new holder
     */
    public Holder withHeldSince(Instant since) {
      return new Holder(label, weight, token, remaining, since);
    }

    /** {@return its {@linkplain LockOptions#holder() label}, if the store keeps it} */
    public Optional<String> label() {
      return Optional.ofNullable(label);
    }

    /**
     * {@return how many permits it holds; 1 for an exclusive lock or a reader, more for a writer}
     */
    public int weight() {
      return weight;
    }

    /** {@return its fencing token, or empty if the backend has none} */
    public OptionalLong fencingToken() {
      return token == null ? OptionalLong.empty() : OptionalLong.of(token);
    }

    /** {@return how long the hold lasts without another renewal, if that is known} */
    public Optional<Duration> remaining() {
      return Optional.ofNullable(remaining);
    }

    /** {@return when the store granted it, by the store's clock, if the store records that} */
    public Optional<Instant> heldSince() {
      return Optional.ofNullable(heldSince);
    }

    @Override
    public String toString() {
      return String.format(
          "%s (weight %s, token %s, remaining %s, held since %s)",
          label, weight, token, remaining, heldSince);
    }
  }
}
