package dev.interlock.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import org.junit.jupiter.api.Test;

class LockKeysTest {

  /** If two versions of Java stored a name differently, two clients would hold the lock. */
  @Test
  void everyCharacterIsStoredAsOnJava17() {
    Hasher stored = Hashing.sha256().newHasher();
    for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
      String name = "job-" + Character.toString(c);
      String key = LockKeys.of("n", name).toString();
      stored.putUnencodedChars(key).putChar('\n');
      if (Character.getType(c) != Character.SURROGATE) {
        assertEquals(name, LockKeys.name("n", LockKeys.bytes(key)));
      }
    }
    assertEquals(
        "552ee2cc2a32118a9e0d9035700fcb8192c5fe71a92d8c8578141e7a9e36933c",
        stored.hash().toString());
  }

  @Test
  void theFenceOfANameIsStoredLikeItsLock() {
    assertEquals("job-\u9ffd%E2%80%8B%2F%25", LockKeys.encoded("job-\u9ffd\u200b/%"));
  }
}
