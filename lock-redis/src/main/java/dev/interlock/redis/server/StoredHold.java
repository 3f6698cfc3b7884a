package dev.interlock.redis.server;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One of several holds of a name, as it is stored.
 *
 * @param id the claim's identity
 * @param weight the weight of its share
 * @param holder the holder's label, followed by {@code (revoked)} if the hold was revoked
 */
public record StoredHold(String id, int weight, String holder) {

  private static final Pattern HOLD =
      Pattern.compile("(revoked\\|)?([^|]+)\\|(\\d{1,10})\\|(.*)", Pattern.DOTALL);

  /**
   * {@return the hold that a member of the sorted set describes; null if it describes none}
   *
   * @param member a member
   */
  public static @Nullable StoredHold read(String member) {
    Matcher hold = HOLD.matcher(member);
    if (!hold.matches()) {
      return null;
    }
    int weight = (int) Math.min(Long.parseLong(hold.group(3)), Integer.MAX_VALUE);
    boolean revoked = hold.group(1) != null;
    return new StoredHold(
        hold.group(2), weight, revoked ? hold.group(4) + " (revoked)" : hold.group(4));
  }
}
