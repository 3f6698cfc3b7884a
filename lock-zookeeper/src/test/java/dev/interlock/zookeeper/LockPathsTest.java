package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.zookeeper.common.PathUtils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LockPathsTest {

  private static final int[] LIKELY =
      "./%:-_ aAeE\u00e9\u030127BDFzookeeper".codePoints().toArray();

  private static final int[] RARE = {
    0, 1, 9, 10, 31, 127, 0x85, 0x9f, 0xa0, 0xad, 0x200b, 0x2028, 0xd7ff, 0xe000, 0xf8ff, 0xfeff,
    0xfff0, 0xffff, 0x1f512, 0xe0001, 0x10ffff
  };

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "orders | /interlock/orders",
        "orders/42 | /interlock/orders%2F42",
        "orders/ | /interlock/orders%2F",
        "zürich | /interlock/zürich",
        "a b | /interlock/a%20b",
        "100% | /interlock/100%25",
        "%2F | /interlock/%252F",
        ". | /interlock/%2E",
        ".. | /interlock/%2E.",
        "a.b | /interlock/a.b",
        "🔒 | /interlock/%F0%9F%94%92",
      })
  void aPersonCanReadThePath(String name, String path) {
    assertEquals(path, LockPaths.of("/interlock", name));
  }

  @Test
  void noTwoNamesShareAPathAndNoneIsRefusedOrNested() {
    Random random = new Random(1);
    Map<String, String> owners = new HashMap<>();
    for (int i = 0; i < 100_000; i++) {
      String name = randomName(random);
      String path = LockPaths.of("/n", name);
      PathUtils.validatePath(path);
      assertEquals(Optional.of(name), LockPaths.nameOf(path.substring("/n/".length())));
      assertEquals(0, path.lastIndexOf('/', path.length()) - "/n".length(), path);
      String other = owners.putIfAbsent(path, name);
      if (other != null) {
        assertEquals(name, other, path);
      } else {
        assertNull(other);
      }
    }
  }

  /** If two versions of Java stored a name differently, two clients would hold the lock. */
  @Test
  void everyCharacterIsStoredAsOnJava17() {
    Hasher stored = Hashing.sha256().newHasher();
    for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
      String name = "job-" + Character.toString(c);
      String node = LockPaths.node(name);
      stored.putUnencodedChars(node).putChar('\n');
      if (Character.getType(c) != Character.SURROGATE) {
        assertEquals(Optional.of(name), LockPaths.nameOf(node));
      }
    }
    assertEquals(
        "e4851027b45b3febda2d902d0256939ba67bbca2fa01bc3612f39c109dc4427a",
        stored.hash().toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"%2f", "a%2", "%41", "a b", "%FF", ".x", "%", "\uD83D"})
  void aNodeThatNoNameEncodesToIsNoLock(String node) {
    assertEquals(Optional.empty(), LockPaths.nameOf(node));
  }

  private static String randomName(Random random) {
    StringBuilder name = new StringBuilder();
    int length = 1 + random.nextInt(6);
    for (int i = 0; i < length; i++) {
      int[] from = random.nextInt(4) == 0 ? RARE : LIKELY;
      name.appendCodePoint(from[random.nextInt(from.length)]);
    }
    return name.toString();
  }
}
