package dev.interlock.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NameEncodingTest {

  private static final NameEncoding VISIBLE = NameEncoding.ofVisible("/");
  private static final NameEncoding LETTERS = NameEncoding.ofLettersAndDigits("/ ");

  /** The digests are those of Java 17, whose tables the encoding has copied. */
  @Test
  void everyCharacterIsEncodedAlikeByEveryVersionOfJava() {
    assertEquals(
        "2d785313ba1f3d355f852fcfaae61036e5c63267146fcb5e05850c2e862a3956", digest(VISIBLE));
    assertEquals(
        "ddfe5554af7fb62aa9d08662eb6d56ac00f13b88a9bf76be49420c2f281a7c6f", digest(LETTERS));
  }

  private static String digest(NameEncoding encoding) {
    Hasher all = Hashing.sha256().newHasher();
    for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
      all.putUnencodedChars(encoding.encode(Character.toString(c))).putChar('\n');
    }
    return all.hash().toString();
  }

  @Test
  void aNameThatNeedsNoEncodingIsNotCopied() {
    String name = "zürich 42";
    assertSame(name, VISIBLE.encode(name));
  }

  @Test
  void everyCharacterIsDecodedAgain() {
    for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
      if (c < Character.MIN_SURROGATE || c > Character.MAX_SURROGATE) {
        String name = "a" + Character.toString(c) + "b";
        assertEquals(name, VISIBLE.decode(VISIBLE.encode(name)));
        assertEquals(name, LETTERS.decode(LETTERS.encode(name)));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"a/b", "%2f", "%4", "%", "%41", "%FF", "%+2", "\u200b", "%\uff12F"})
  void aTextThatIsNotAnEncodedNameIsNotDecoded(String text) {
    assertNull(VISIBLE.decode(text));
  }
}
