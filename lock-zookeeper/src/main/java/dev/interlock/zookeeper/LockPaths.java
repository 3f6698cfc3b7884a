package dev.interlock.zookeeper;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * Where one lock lives on ZooKeeper: a node directly below the namespace's, so that locks never
 * nest.
 *
 * <p>Of a name, letters and digits of the basic plane and printable ASCII stay as they are, so that
 * a person can read them; the rest is percent-encoded. Among the rest are what the servers refuse
 * (control characters, surrogates, private use, the names {@code .} and {@code ..}), the slash, and
 * the escape character itself.
 */
final class LockPaths {

  private static final HexFormat HEX = HexFormat.of().withUpperCase();

  private LockPaths() {}

  static String of(String namespacePath, String name) {
    StringBuilder path = new StringBuilder(namespacePath.length() + name.length() + 1);
    path.append(namespacePath).append('/');
    for (int i = 0; i < name.length(); ) {
      int c = name.codePointAt(i);
      // A first dot could make the whole a relative path.
      if (isPlain(c) && !(i == 0 && c == '.')) {
        path.appendCodePoint(c);
      } else {
        for (byte b : Character.toString(c).getBytes(StandardCharsets.UTF_8)) {
          path.append('%').append(HEX.toHexDigits(b));
        }
      }
      i += Character.charCount(c);
    }
    return path.toString();
  }

  private static boolean isPlain(int c) {
    if (c < 0x80) {
      return c > ' ' && c != '/' && c != '%' && c != 0x7F;
    }
    return Character.isBmpCodePoint(c) && Character.isLetterOrDigit(c);
  }
}
