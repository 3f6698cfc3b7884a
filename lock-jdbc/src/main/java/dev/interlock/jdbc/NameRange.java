package dev.interlock.jdbc;

import com.google.common.io.BaseEncoding;
import java.util.Arrays;

/** Ranges of names in the order of their bytes. */
final class NameRange {

  /** Higher than any byte of UTF-8. */
  private static final byte ABOVE_UTF8 = (byte) 0xff;

  private NameRange() {}

  /** {@return the next possible name after this one} */
  static byte[] after(byte[] name) {
    return Arrays.copyOf(name, name.length + 1);
  }

  /** {@return an upper bound of all names that begin with these bytes} */
  static byte[] end(byte[] prefix) {
    byte[] end = Arrays.copyOf(prefix, prefix.length + 1);
    end[prefix.length] = ABOVE_UTF8;
    return end;
  }

  static String text(byte[] name) {
    return BaseEncoding.base16().encode(name);
  }

  static byte[] bytes(String text) {
    return BaseEncoding.base16().decode(text);
  }
}
