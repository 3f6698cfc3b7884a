package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * The format in which locks are stored, as the data of the namespace's node records it.
 *
 * <p>A node with other data or none was created by an administrator, or by version 0.1, whose
 * format is 1.
 */
final class StoredFormat {

  private static final String MARK = "interlock-format=";
  private static final String KNOWN = MARK + "1";

  private StoredFormat() {}

  /** The data for a new namespace node. */
  static byte[] mark() {
    return KNOWN.getBytes(UTF_8);
  }

  static boolean isKnown(String data) {
    return !data.startsWith(MARK) || data.equals(KNOWN);
  }
}
