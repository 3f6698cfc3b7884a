package dev.interlock.cli;

import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.LockState.Holder;
import dev.interlock.LockState.Mode;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The JSON form of a lock's state; docs/command-line.md describes the fields. */
record LockDocument(
    String name,
    boolean held,
    @Nullable LockKind kind,
    @Nullable Integer limit,
    @Nullable String holder,
    @Nullable Long token,
    @Nullable Long remainingMillis,
    @Nullable String heldSince,
    List<HolderDocument> holders,
    List<String> waiters) {

  private record HolderDocument(
      Mode mode,
      @Nullable Integer permits,
      @Nullable String holder,
      @Nullable Long token,
      @Nullable Long remainingMillis,
      @Nullable String heldSince) {

    static HolderDocument of(Holder holder) {
      return new HolderDocument(
          holder.mode(),
          holder.permits().isPresent() ? holder.permits().getAsInt() : null,
          holder.label().orElse(null),
          orNull(holder.fencingToken()),
          holder.remaining().map(Duration::toMillis).orElse(null),
          holder.heldSince().map(Instant::toString).orElse(null));
    }
  }

  static LockDocument of(LockState state) {
    return new LockDocument(
        state.name(),
        state.isHeld(),
        state.kind().orElse(null),
        state.limit().isPresent() ? state.limit().getAsInt() : null,
        state.holder().flatMap(LockState.Holder::label).orElse(null),
        orNull(state.fencingToken()),
        state.remaining().map(Duration::toMillis).orElse(null),
        state.heldSince().map(Instant::toString).orElse(null),
        state.holders().stream().map(HolderDocument::of).toList(),
        state.waiters());
  }

  static @Nullable Long orNull(OptionalLong token) {
    return token.isPresent() ? token.getAsLong() : null;
  }
}
