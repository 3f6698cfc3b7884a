package dev.interlock.jdbc;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.hash.Hashing;
import java.util.HexFormat;

/**
 * The key of a lock's fence in its table. It is printable ASCII, so that every database stores and
 * compares it exactly, whatever its character set and collation. All other characters, the space
 * and the escape character itself are percent-encoded. In a long key a hash replaces the end, after
 * {@code %~}, which no encoding contains.
 */
final class FenceKey {

  private static final int MAX_LENGTH = 255;
  private static final HexFormat HEX = HexFormat.of().withUpperCase();

  private FenceKey() {}

  static String of(String name) {
    if (name.isEmpty()) {
      throw new IllegalArgumentException("a lock's name must not be empty");
    }
    StringBuilder key = new StringBuilder(name.length());
    for (byte b : name.getBytes(UTF_8)) {
      if (b > ' ' && b < 0x7F && b != '%') {
        key.append((char) b);
      } else {
        key.append('%').append(HEX.toHexDigits(b));
      }
    }
    if (key.length() <= MAX_LENGTH) {
      return key.toString();
    }
    String hash = "%~" + HEX.formatHex(Hashing.sha256().hashString(key, US_ASCII).asBytes());
    return key.substring(0, MAX_LENGTH - hash.length()) + hash;
  }
}
