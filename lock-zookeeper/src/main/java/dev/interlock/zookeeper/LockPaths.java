package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.spi.Claim;
import java.net.URLDecoder;
import java.util.HexFormat;
import java.util.Optional;

/**
 * The paths of locks: each lock has a node directly below the namespace's node, so locks never
 * nest.
 *
 * <p>Letters and digits of the basic plane and printable ASCII stay as they are, so that a person
 * can read the names; everything else is percent-encoded. That includes the slash, the escape
 * character itself, and what the servers refuse: control characters, surrogates, private use, and
 * the names {@code .} and {@code ..}.
 */
final class LockPaths {

  private static final HexFormat HEX = HexFormat.of().withUpperCase();

  private LockPaths() {}

  static String of(String namespacePath, String name) {
    return namespacePath + "/" + node(name);
  }

  /** The beginning of the path of a claim's node, to which the servers append a number. */
  static String nodePrefix(String namespacePath, Claim claim) {
    return of(namespacePath, claim.name()) + "/" + NodeName.prefix(claim);
  }

  /** The name of a lock's node. */
  static String node(String name) {
    StringBuilder encoded = new StringBuilder(name.length());
    for (int i = 0; i < name.length(); ) {
      int c = name.codePointAt(i);
      // A first dot could make the whole a relative path.
      if (isPlain(c) && !(i == 0 && c == '.')) {
        encoded.appendCodePoint(c);
      } else {
        for (byte b : Character.toString(c).getBytes(UTF_8)) {
          encoded.append('%').append(HEX.toHexDigits(b));
        }
      }
      i += Character.charCount(c);
    }
    return encoded.toString();
  }

  private static boolean isPlain(int c) {
    if (c < 0x80) {
      return c > ' ' && c != '/' && c != '%' && c != 0x7F;
    }
    return Character.isBmpCodePoint(c) && Character.isLetterOrDigit(c);
  }

  /** The name of the lock whose node is called so; empty if no lock has such a node. */
  static Optional<String> nameOf(String node) {
    try {
      // The decoder is made for forms, where a plus is a space.
      String name = URLDecoder.decode(node.replace("+", "%2B"), UTF_8);
      return node(name).equals(node) ? Optional.of(name) : Optional.empty();
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }
}
