package dev.interlock.spi;

import static dev.interlock.internal.Arguments.checkArgument;

import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.LockState.Holder;
import dev.interlock.LockState.Mode;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/** Creates the {@link LockState}s that a backend returns. */
public final class LockStates {

  private LockStates() {}

  /**
   * Returns the state of a lock that is free.
   *
   * @param name the lock's name
   * @return its state
   */
  public static LockState free(String name) {
    return new State(name, Optional.empty(), OptionalInt.empty(), List.of(), List.of());
  }

  /**
   * Returns the state of an exclusive lock that is held.
   *
   * @param name the lock's name
   * @param label the holder's label, or null if the store does not keep it
   * @param token the fencing token of the grant, or null if there is none
   * @param remaining how long the store will keep the lock without another renewal, or null if not
   *     known
   * @param waiters the labels of the waiters, in order; empty if the store keeps no queue
   * @return its state
   */
  public static LockState held(
      String name,
      @Nullable String label,
      @Nullable Long token,
      @Nullable Duration remaining,
      List<String> waiters) {
    return held(name, holder(label, token, remaining, null), waiters);
  }

  /**
   * Returns the state of an exclusive lock that is held.
   *
   * @param name the lock's name
   * @param holder the holder
   * @param waiters the labels of the waiters, in order; empty if the store keeps no queue
   * @return its state
   */
  public static LockState held(String name, Holder holder, List<String> waiters) {
    return held(name, LockKind.EXCLUSIVE, 1, List.of(holder), waiters);
  }

  /**
   * Returns the state of a name that is held, of any kind.
   *
   * @param name the lock's name
   * @param kind the kind of lock
   * @param capacity a semaphore's limit; for other kinds {@link Share#capacity()}
   * @param holders the holders, in the order of their grants, at least one
   * @param waiters the labels of the waiters, in order; empty if the store keeps no queue
   * @return its state
   * @throws IllegalArgumentException if there are no holders
   */
  public static LockState held(
      String name, LockKind kind, int capacity, List<Holder> holders, List<String> waiters) {
    checkArgument(!holders.isEmpty(), "a held name needs at least one holder");
    OptionalInt limit = kind == LockKind.SEMAPHORE ? OptionalInt.of(capacity) : OptionalInt.empty();
    return new State(name, Optional.of(kind), limit, List.copyOf(holders), List.copyOf(waiters));
  }

  /**
   * Returns the holder of an exclusive lock.
   *
   * @param label its label, or null if the store does not keep it
   * @param token its fencing token, or null if there is none
   * @param remaining how long the store will keep it without another renewal, or null if not known
   * @param heldSince the time of the grant, by the store's clock, or null if not recorded
   * @return the holder
   */
  public static Holder holder(
      @Nullable String label,
      @Nullable Long token,
      @Nullable Duration remaining,
      @Nullable Instant heldSince) {
    return holder(LockKind.EXCLUSIVE, 1, label, token, remaining, heldSince);
  }

  /**
   * Returns a holder of a name of any kind.
   *
   * @param kind the kind of lock
   * @param weight the weight of the holder's claim, see {@link Share#weight()}
   * @param label its label, or null if the store does not keep it
   * @param token its fencing token, or null if there is none
   * @param remaining how long the store will keep it without another renewal, or null if not known
   * @param heldSince the time of the grant, by the store's clock, or null if not recorded
   * @return the holder
   */
  public static Holder holder(
      LockKind kind,
      int weight,
      @Nullable String label,
      @Nullable Long token,
      @Nullable Duration remaining,
      @Nullable Instant heldSince) {
    Mode mode =
        switch (kind) {
          case EXCLUSIVE -> Mode.EXCLUSIVE;
          case READ_WRITE -> weight == 1 ? Mode.READ : Mode.WRITE;
          case SEMAPHORE -> Mode.PERMITS;
        };
    return new OneHolder(
        Optional.ofNullable(label),
        mode,
        mode == Mode.PERMITS ? OptionalInt.of(weight) : OptionalInt.empty(),
        token == null ? OptionalLong.empty() : OptionalLong.of(token),
        Optional.ofNullable(remaining),
        Optional.ofNullable(heldSince));
  }

  /**
   * Returns a state with other fencing tokens.
   *
   * @param state the state
   * @param change returns the new token for a token
   * @return a new state
   */
  public static LockState mapTokens(LockState state, LongUnaryOperator change) {
    return new State(
        state.name(),
        state.kind(),
        state.limit(),
        state.holders().stream().map(holder -> withToken(holder, change)).toList(),
        state.waiters());
  }

  private static Holder withToken(Holder holder, LongUnaryOperator change) {
    OptionalLong token = holder.fencingToken();
    return token.isEmpty()
        ? holder
        : new OneHolder(
            holder.label(),
            holder.mode(),
            holder.permits(),
            OptionalLong.of(change.applyAsLong(token.getAsLong())),
            holder.remaining(),
            holder.heldSince());
  }

  private record State(
      String name,
      Optional<LockKind> kind,
      OptionalInt limit,
      List<Holder> holders,
      List<String> waiters)
      implements LockState {

    @Override
    public String toString() {
      return "LockState["
          + name
          + kind.map(use -> " held as " + use + " by " + holders + ", waiters " + waiters)
              .orElse(" free")
          + "]";
    }
  }

  private record OneHolder(
      Optional<String> label,
      Mode mode,
      OptionalInt permits,
      OptionalLong fencingToken,
      Optional<Duration> remaining,
      Optional<Instant> heldSince)
      implements Holder {

    @Override
    public String toString() {
      return "%s (%s%s, token %s, remaining %s, held since %s)"
          .formatted(
              label.orElse(null),
              permits.isPresent() ? permits.getAsInt() + " " : "",
              mode,
              fencingToken.isEmpty() ? null : fencingToken.getAsLong(),
              remaining.orElse(null),
              heldSince.orElse(null));
    }
  }
}
