package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.etcd.jetcd.ByteSequence;
import java.util.HexFormat;

/**
 * Where the line for one lock stands on etcd: every place is a key below one prefix.
 *
 * <p>Of a name, the slash (which would let one name's prefix begin another's), the escape character
 * itself and what cannot be seen are percent-encoded, so that two names never share a prefix and a
 * person can read them.
 */
final class LockKeys {

  private static final HexFormat HEX = HexFormat.of().withUpperCase();

  private final String prefix;

  private LockKeys(String prefix) {
    this.prefix = prefix;
  }

  static LockKeys of(String namespace, String name) {
    StringBuilder prefix = new StringBuilder(namespace.length() + name.length() + 8);
    prefix.append(namespace).append("/lock/");
    for (int i = 0; i < name.length(); ) {
      int c = name.codePointAt(i);
      i += Character.charCount(c);
      if (mustBeEncoded(c)) {
        for (byte b : Character.toString(c).getBytes(UTF_8)) {
          prefix.append('%').append(HEX.toHexDigits(b));
        }
      } else {
        prefix.appendCodePoint(c);
      }
    }
    return new LockKeys(prefix.append('/').toString());
  }

  private static boolean mustBeEncoded(int c) {
    if (c == '%' || c == '/') {
      return true;
    }
    return switch (Character.getType(c)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          true;
      default -> false;
    };
  }

  /** What the keys of all places in line begin with. */
  ByteSequence prefix() {
    return bytes(prefix);
  }

  /** The key of one place: the number tells apart the places that a session has at a time. */
  ByteSequence place(long session, int number) {
    return bytes(prefix + Long.toHexString(session) + "-" + number);
  }

  /** The key that is there as long as a session. */
  static ByteSequence session(String namespace, long session) {
    return bytes(namespace + "/session/" + Long.toHexString(session));
  }

  static ByteSequence bytes(String text) {
    return ByteSequence.from(text, UTF_8);
  }

  @Override
  public String toString() {
    return prefix;
  }
}
