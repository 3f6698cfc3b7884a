package dev.interlock.redis.server;

import dev.interlock.spi.Share;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The holds of a name that several may hold, read from the reply of {@code inspect.lua}.
 *
 * @param use a share of the kind as which the name is used; null if a newer version wrote it
 * @param now the server's time in ms
 * @param holds the holds that have not ended, in no order
 */
public record StoredHolds(@Nullable Share use, long now, List<Hold> holds) {

  /** The lowest score that is a time, see {@code share_acquire.lua}. */
  private static final double FIRST_TIME = 1L << 31;

  /**
   * A hold.
   *
   * @param hold its stored form
   * @param token its token on this server, or null if it has none
   * @param remainingMillis the time until it ends
   */
  public record Hold(StoredHold hold, @Nullable Long token, long remainingMillis) {}

  /**
   * {@return the holds}
   *
   * @param reply a script's reply that begins with {@code shared}
   */
  public static StoredHolds read(List<?> reply) {
    long now = (Long) reply.get(2);
    Map<String, Long> tokens = new HashMap<>();
    Map<StoredHold, Long> ends = new HashMap<>();
    List<?> members = (List<?>) reply.get(3);
    for (int i = 0; i < members.size(); i += 2) {
      String member = text(members.get(i));
      double score = Double.parseDouble(text(members.get(i + 1)));
      if (score < 0) {
        tokens.put(member, (long) -score);
      } else if (score >= FIRST_TIME && score >= now) {
        StoredHold hold = StoredHold.read(member);
        if (hold != null) {
          ends.put(hold, (long) score);
        }
      }
    }
    List<Hold> holds = new ArrayList<>();
    ends.forEach((hold, end) -> holds.add(new Hold(hold, tokens.get(hold.id()), end - now)));
    return new StoredHolds(StoredShare.use(text(reply.get(1))), now, holds);
  }

  private static String text(Object word) {
    return new String((byte[]) word, StandardCharsets.UTF_8);
  }
}
