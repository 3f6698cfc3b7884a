package dev.interlock.jdbc;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.hash.Hashing;

/** The channel on which PostgreSQL publishes releases. Each table has one. */
final class ReleaseChannel {

  private ReleaseChannel() {}

  /**
   * {@return the channel, a word that needs no quotes}
   *
   * @param table the table with or without a schema; only its last part counts
   */
  static String of(String table) {
    String last = table.substring(table.indexOf('.') + 1);
    return "interlock_" + last.toLowerCase(java.util.Locale.ROOT);
  }

  /** {@return the payload for a name, a hash, because names may be longer than payloads} */
  static String payload(String name) {
    return Hashing.sha256().hashString(name, UTF_8).toString().substring(0, 32);
  }
}
