package dev.interlock.spi;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLDecoder;
import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * Percent-encodes lock names for stores that do not accept every character. People can still read
 * most encoded names.
 *
 * <p>Every version of Java encodes a name in the same way. This class fixes which characters are
 * kept, because a JVM's own tables, such as those of {@link Character}, grow with each version of
 * Unicode. With those, two JVMs could store one lock under two keys, and both could hold it.
 *
 * <p>Two names never have the same encoding. Immutable.
 */
public final class NameEncoding {

  private static final HexFormat HEX = HexFormat.of().withUpperCase();

  private final String reserved;

  private final int[] boundaries;

  private final boolean keepsRanges;

  private NameEncoding(String reserved, String ranges, boolean keepsRanges) {
    this.reserved = reserved;
    this.boundaries = UnicodeRanges.boundaries(ranges);
    this.keepsRanges = keepsRanges;
  }

  /**
   * Returns an encoding that keeps visible characters and spaces. It encodes control characters,
   * invisible format characters, and line and paragraph separators.
   *
   * @param reserved further ASCII characters to encode; {@code %} is always encoded
   * @return the encoding
   */
  public static NameEncoding ofVisible(String reserved) {
    return new NameEncoding(reserved, UnicodeRanges.INVISIBLE, false);
  }

  /**
   * Returns an encoding that keeps visible ASCII characters, spaces, and the letters and digits of
   * Unicode's basic plane.
   *
   * @param reserved further ASCII characters to encode; {@code %} is always encoded
   * @return the encoding
   */
  public static NameEncoding ofLettersAndDigits(String reserved) {
    return new NameEncoding(reserved, UnicodeRanges.LETTERS_AND_DIGITS, true);
  }

  /**
   * Encodes a name, or the beginning of one.
   *
   * @param name any text of well-formed Unicode
   * @return the text, with {@code %} and two hexadecimal digits for each UTF-8 byte of a character
   *     that is not kept
   */
  public String encode(String name) {
    StringBuilder encoded = null;
    for (int i = 0; i < name.length(); ) {
      int c = name.codePointAt(i);
      int next = i + Character.charCount(c);
      if (!keeps(c)) {
        if (encoded == null) {
          encoded = new StringBuilder(name.length() + 16).append(name, 0, i);
        }
        for (byte b : name.substring(i, next).getBytes(UTF_8)) {
          encoded.append('%').append(HEX.toHexDigits(b));
        }
      } else if (encoded != null) {
        encoded.appendCodePoint(c);
      }
      i = next;
    }
    return encoded == null ? name : encoded.toString();
  }

  private boolean keeps(int c) {
    if (c < 0x80) {
      return c >= ' ' && c != 0x7F && c != '%' && reserved.indexOf(c) < 0;
    }
    // Even indexes begin a range, and odd ones end it. For a character between the boundaries i - 1
    // and i the search returns -i - 1, which is even if i is odd.
    boolean isInRange = Arrays.binarySearch(boundaries, c) % 2 == 0;
    return isInRange == keepsRanges;
  }

  /**
   * Decodes a name.
   *
   * @param encoded any text from the store
   * @return the name that {@link #encode} turns into exactly this text, or null if there is none
   */
  public @Nullable String decode(String encoded) {
    try {
      // The decoder is for HTML forms, where a plus is a space.
      String name = URLDecoder.decode(encoded.replace("+", "%2B"), UTF_8);
      return encode(name).equals(encoded) ? name : null;
    } catch (IllegalArgumentException e) {
      return null;
    }
  }
}
