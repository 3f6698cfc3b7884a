package dev.interlock.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import dev.interlock.redis.server.LockKeys;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.util.JedisClusterCRC16;

/** Names become keys without ever meeting. */
class LockKeysTest {

  /** The characters that are most likely to be confused, so that random names contain them. */
  private static final int[] LIKELY =
      "{}%:/|*?[]\\\"' aAeE\u00e9\u0301fence27BD".codePoints().toArray();

  private static final int[] RARE = {
    0, 1, 9, 10, 13, 27, 31, 127, 128, 0x9f, 0xa0, 0xad, 0x200b, 0x200d, 0x2028, 0x2029, 0x202e,
    0xfeff, 0xfffd, 0xffff, 0x1f512, 0xe0001, 0x10ffff
  };

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "orders/42 | interlock:{orders/42}",
        "a b | interlock:{a b}",
        "zürich 🔒 | interlock:{zürich 🔒}",
        "{a} | interlock:{%7Ba%7D}",
        "100% | interlock:{100%25}",
        "%7B | interlock:{%257B}",
      })
  void aPersonCanReadTheKey(String name, String key) {
    assertEquals(key, LockKeys.of("interlock", name).toString());
  }

  @Test
  void whatCannotBeSeenIsEncoded() {
    assertEquals("n:{%00%0A%C2%85%E2%80%8B%E2%80%AE}", key("\u0000\n\u0085\u200b\u202e"));
  }

  /** Two versions of Java that store a name differently would both hold it. */
  @Test
  void everyCharacterIsStoredAsByJava17() {
    Hasher stored = Hashing.sha256().newHasher();
    for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
      String name = "job-" + Character.toString(c);
      String key = key(name);
      stored.putUnencodedChars(key).putChar('\n');
      if (Character.getType(c) != Character.SURROGATE) {
        assertEquals(name, LockKeys.name("n", key.getBytes(UTF_8)));
      }
    }
    assertEquals(
        "6193fd028b3dde8f8490d92a4e9f29465465e463eeae36731b90f3a36e1e0cd6",
        stored.hash().toString());
  }

  @Test
  void theChannelIsNamedLikeTheLocksKey() {
    LockKeys keys = LockKeys.of("n", "job");
    assertEquals(keys.channel(), new String(keys.lock(), UTF_8));
  }

  @Test
  void onlyALocksKeyHasAName() {
    for (String name : List.of("a b", "{a}", "100%", "%7B", "a+b", "zürich 🔒", "\u0000\u202e")) {
      LockKeys keys = LockKeys.of("n", name);
      assertEquals(name, LockKeys.name("n", keys.lock()));
      assertNull(LockKeys.name("n", keys.fence()));
      assertNull(LockKeys.name("other", keys.lock()));
    }
    for (String key : List.of("n:{}", "n:{a", "n:a}", "n:{a}}", "n:{%4}", "n:{%41}", "n:{%ff}")) {
      assertNull(LockKeys.name("n", key.getBytes(UTF_8)), key);
    }
  }

  @Test
  void patternsMatchThePrefixAndNothingOfTheirOwnLanguage() {
    assertEquals("n:{a*}", LockKeys.pattern("n", "a"));
    assertEquals("n:{*}", LockKeys.pattern("n", ""));
    assertEquals("n:{\\*\\?\\[x\\]\\\\*}", LockKeys.pattern("n", "*?[x]\\"));
    assertEquals("n:{a*}", LockKeys.pattern("n", "a\ud83d"));
  }

  @Test
  void noTwoNamesShareAKeyAndNoLockIsAnothersFence() {
    Random random = new Random(1);
    Map<String, String> owners = new HashMap<>();
    for (int i = 0; i < 200_000; i++) {
      String name = randomName(random);
      LockKeys keys = LockKeys.of("n", name);
      for (byte[] key : new byte[][] {keys.lock(), keys.fence()}) {
        String owner = owners.put(new String(key, UTF_8), name);
        assertTrue(owner == null || owner.equals(name), () -> name + " and " + owner);
      }
    }
  }

  @Test
  void bothKeysOfEveryNameAreInOneSlotThatTheNameDecides() {
    Random random = new Random(2);
    for (int i = 0; i < 20_000; i++) {
      String name = randomName(random);
      LockKeys keys = LockKeys.of("n", name);
      int slot = keys.slot();
      assertEquals(slot, JedisClusterCRC16.getSlot(keys.fence()), name);
      // By the cluster's specification: what is between the first { and the next }.
      String key = keys.toString();
      String tag = key.substring(key.indexOf('{') + 1, key.indexOf('}'));
      assertEquals(key.length() - 1, key.indexOf('}'), key);
      assertEquals(key.indexOf('{'), key.lastIndexOf('{'), key);
      assertEquals(slot, JedisClusterCRC16.getCRC16(tag.getBytes(UTF_8)) % 16384, name);
    }
  }

  @Test
  void namespacesDoNotMeetEither() {
    Map<String, String> owners = new HashMap<>();
    for (String namespace : new String[] {"a", "a:", "a:a", "a/b", "A", ":"}) {
      for (String name : new String[] {"a", "a:", ":a", "{a", "}:{a"}) {
        assertNull(owners.put(LockKeys.of(namespace, name).toString(), name));
      }
    }
  }

  @Test
  void theLongestNameFits() {
    String name = "\u0000".repeat(255);
    assertEquals("n:{".length() + 3 * 255 + 1, key(name).length());
    assertNotEquals(key(name), key(name.substring(1)));
  }

  private static String key(String name) {
    return LockKeys.of("n", name).toString();
  }

  private static String randomName(Random random) {
    int length = 1 + random.nextInt(4);
    StringBuilder name = new StringBuilder();
    for (int i = 0; i < length; i++) {
      int[] from = random.nextInt(5) == 0 ? RARE : LIKELY;
      name.appendCodePoint(from[random.nextInt(from.length)]);
    }
    return name.toString();
  }
}
