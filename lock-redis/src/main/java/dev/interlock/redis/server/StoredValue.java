package dev.interlock.redis.server;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the value of a lock's key; {@code format_of.lua} describes it. */
public final class StoredValue {

  private static final Pattern NEWER = Pattern.compile("v(\\d+)\\|.*", Pattern.DOTALL);
  private static final String REVOKED = "revoked|";

  private StoredValue() {}

  /**
   * {@return the holder's label, followed by {@code (revoked)} if the lock was revoked; or a note
   * that a newer version of Interlock wrote the value}
   *
   * @param value the value, without {@code awaited|}
   */
  public static String holder(String value) {
    Matcher newer = NEWER.matcher(value);
    if (newer.matches()) {
      return "(format " + newer.group(1) + ", written by a newer version of Interlock)";
    }
    boolean revoked = value.startsWith(REVOKED);
    String label = value.substring(value.indexOf('|', revoked ? REVOKED.length() : 0) + 1);
    return revoked ? label + " (revoked)" : label;
  }
}
