package dev.interlock.redis;

import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.LockState.Holder;
import dev.interlock.redis.server.StoredHolds;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads the state of a name that several may hold. */
final class SharedState {

  private SharedState() {}

  /** Returns the state. It is free if all holds have ended, even if clients wait. */
  static LockState read(String name, List<?> reply) {
    StoredHolds stored = StoredHolds.read(reply);
    Share use = stored.use();
    if (use == null || stored.holds().isEmpty()) {
      return LockStates.free(name);
    }
    List<Holder> holders =
        stored.holds().stream()
            .sorted(Comparator.comparingLong(SharedState::token))
            .map(one -> holder(use.kind(), one, stored.now()))
            .toList();
    return LockStates.held(name, use.kind(), use.capacity(), holders, List.of());
  }

  private static long token(StoredHolds.Hold one) {
    Long token = one.token();
    return token == null ? 0 : token;
  }

  private static Holder holder(LockKind kind, StoredHolds.Hold one, long now) {
    Long token = one.token();
    return LockStates.holder(
        kind,
        one.hold().weight(),
        one.hold().holder(),
        token,
        Duration.ofMillis(one.remainingMillis()),
        token == null ? null : since(token, now));
  }

  /** Returns the time of the grant, which the token tells; null if the clock was set back. */
  static @Nullable Instant since(long token, long now) {
    long since = token / RedisBackend.TOKENS_PER_MILLISECOND;
    return since > now ? null : Instant.ofEpochMilli(since);
  }
}
