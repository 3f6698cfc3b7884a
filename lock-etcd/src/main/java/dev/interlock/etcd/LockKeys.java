package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.etcd.jetcd.ByteSequence;
import java.net.URLDecoder;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * The keys of one lock: the entries of its queue share a prefix.
 *
 * <p>In a name the slash, the escape character itself and invisible characters are percent-encoded,
 * so that no name's prefix begins another's and a person can read the keys.
 */
final class LockKeys {

  private static final HexFormat HEX = HexFormat.of().withUpperCase();

  private final String prefix;

  private LockKeys(String prefix) {
    this.prefix = prefix;
  }

  static LockKeys of(String namespace, String name) {
    return new LockKeys(locks(namespace) + encoded(name) + '/');
  }

  /** The prefix of the keys of all locks whose names begin with this. */
  static ByteSequence allOf(String namespace, String namePrefix) {
    return bytes(locks(namespace) + encoded(namePrefix));
  }

  /** The name of the lock that a key belongs to, or null if it belongs to none. */
  static @Nullable String name(String namespace, ByteSequence key) {
    String text = key.toString(UTF_8);
    int start = locks(namespace).length();
    int end = text.indexOf('/', start);
    if (end <= start) {
      return null;
    }
    try {
      // In a form, which URLDecoder reads, a plus would be a space.
      String name = URLDecoder.decode(text.substring(start, end).replace("+", "%2B"), UTF_8);
      return key.startsWith(of(namespace, name).prefix()) ? name : null;
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  private static String locks(String namespace) {
    return namespace + "/lock/";
  }

  private static String encoded(String name) {
    StringBuilder encoded = new StringBuilder(name.length());
    for (int i = 0; i < name.length(); ) {
      int c = name.codePointAt(i);
      i += Character.charCount(c);
      if (mustBeEncoded(c)) {
        for (byte b : Character.toString(c).getBytes(UTF_8)) {
          encoded.append('%').append(HEX.toHexDigits(b));
        }
      } else {
        encoded.appendCodePoint(c);
      }
    }
    return encoded.toString();
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

  /** The prefix of all entries in the queue. */
  ByteSequence prefix() {
    return bytes(prefix);
  }

  /** The key of one entry; the number distinguishes the simultaneous entries of a session. */
  ByteSequence entry(long session, int number) {
    return bytes(prefix + Long.toHexString(session) + "-" + number);
  }

  /** The key that exists as long as a session. */
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
