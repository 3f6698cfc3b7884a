package dev.interlock.jdbc;

import com.google.common.io.BaseEncoding;
import java.util.Arrays;

/** Ranges of names by the order of their bytes. */
final class NameRange {

  /** No byte of UTF-8 is as high. */
  private static final byte ABOVE_ALL = (byte) 0xff;

  private NameRange() {}

  /** {@return the first name that comes after this one} */
  static byte[] after(byte[] name) {
    return Arrays.copyOf(name, name.length + 1);
  }

  /** {@return what all names that begin with these bytes are less than} */
  static byte[] end(byte[] prefix) {
    byte[] end = Arrays.copyOf(prefix, prefix.length + 1);
    end[prefix.length] = ABOVE_ALL;
    return end;
  }

  static String text(byte[] name) {
    return BaseEncoding.base16().encode(name);
  }

  static byte[] bytes(String text) {
    return BaseEncoding.base16().decode(text);
  }
}
