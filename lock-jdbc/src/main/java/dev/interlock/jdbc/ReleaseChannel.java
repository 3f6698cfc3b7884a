package dev.interlock.jdbc;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.hash.Hashing;

/** Where PostgreSQL publishes releases: one channel for each table. */
final class ReleaseChannel {

  private ReleaseChannel() {}

  /**
   * {@return the channel: a word that needs no quotes}
   *
   * @param table with or without a schema; clients that write it differently only poll
   */
  static String of(String table) {
    String last = table.substring(table.indexOf('.') + 1);
    return "interlock_" + last.toLowerCase(java.util.Locale.ROOT);
  }

  /** {@return what is published for a name: a hash, because names can be longer than payloads} */
  static String payload(String name) {
    return Hashing.sha256().hashString(name, UTF_8).toString().substring(0, 32);
  }
}
