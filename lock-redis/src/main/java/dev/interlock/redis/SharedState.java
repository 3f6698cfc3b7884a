package dev.interlock.redis;

import dev.interlock.LockState;
import dev.interlock.LockState.Holder;
import dev.interlock.redis.server.StoredHold;
import dev.interlock.redis.server.StoredShare;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads the answer about a name that several may hold, as {@code inspect.lua} gives it. */
final class SharedState {

  /** Below this a score is no time, see {@code share_acquire.lua}. */
  private static final double FIRST_TIME = 1L << 31;

  private SharedState() {}

  private record Granted(long token, Holder holder) {}

  /** Returns the state; free if all holds have ended, however many wait. */
  static LockState read(String name, List<?> reply) {
    Share use = StoredShare.use(Wire.text(reply.get(1)));
    long now = (Long) reply.get(2);
    Map<String, Long> tokens = new HashMap<>();
    Map<StoredHold, Long> ends = new HashMap<>();
    List<?> members = (List<?>) reply.get(3);
    for (int i = 0; i < members.size(); i += 2) {
      String member = Wire.text(members.get(i));
      double score = Double.parseDouble(Wire.text(members.get(i + 1)));
      if (score < 0) {
        tokens.put(member, (long) -score);
      } else if (score >= FIRST_TIME && score >= now) {
        StoredHold hold = StoredHold.read(member);
        if (hold != null) {
          ends.put(hold, (long) score);
        }
      }
    }
    List<Granted> granted = new ArrayList<>();
    ends.forEach((hold, end) -> granted.add(granted(hold, tokens.get(hold.id()), end, now)));
    granted.sort(Comparator.comparingLong(Granted::token));
    List<Holder> holders = granted.stream().map(Granted::holder).toList();
    return use == null || holders.isEmpty()
        ? LockState.free(name)
        : LockState.held(name, use.kind(), use.capacity(), holders, List.of());
  }

  private static Granted granted(StoredHold hold, @Nullable Long token, long end, long now) {
    Holder holder =
        new Holder(
            hold.holder(),
            hold.weight(),
            token,
            Duration.ofMillis(end - now),
            token == null ? null : since(token, now));
    return new Granted(token == null ? 0 : token, holder);
  }

  /** A token is the server's time, or ahead of it if the clock was set back. */
  static @Nullable Instant since(long token, long now) {
    long since = token / RedisBackend.TOKENS_PER_MILLISECOND;
    return since > now ? null : Instant.ofEpochMilli(since);
  }
}
