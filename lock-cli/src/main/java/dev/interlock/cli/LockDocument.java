package dev.interlock.cli;

import dev.interlock.LockState;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The JSON form of a lock's state; docs/command-line.md describes the fields. */
record LockDocument(
    String name,
    boolean held,
    @Nullable String holder,
    @Nullable Long token,
    @Nullable Long remainingMillis,
    @Nullable String heldSince,
    List<String> waiters) {

  static LockDocument of(LockState state) {
    return new LockDocument(
        state.name(),
        state.isHeld(),
        state.holder().orElse(null),
        state.fencingToken().isPresent() ? state.fencingToken().getAsLong() : null,
        state.remaining().map(Duration::toMillis).orElse(null),
        state.heldSince().map(Instant::toString).orElse(null),
        state.waiters());
  }
}
