package dev.interlock.internal;

import static java.util.Objects.requireNonNull;

import com.google.common.collect.ImmutableList;
import java.util.Collection;
import java.util.Comparator;
import java.util.TreeSet;

/** Which names are allowed, and in which order several are acquired. */
final class Names {

  static final int LONGEST = 255;

  /** By code point, which differs from {@link String#compareTo} beyond the basic plane. */
  static final Comparator<String> BY_CODE_POINT =
      (a, b) -> {
        int i = 0;
        while (i < a.length() && i < b.length()) {
          int x = a.codePointAt(i);
          int y = b.codePointAt(i);
          if (x != y) {
            return Integer.compare(x, y);
          }
          i += Character.charCount(x);
        }
        return Integer.compare(a.length(), b.length());
      };

  private Names() {}

  static String checked(String name) {
    requireNonNull(name, "name");
    if (name.isEmpty()) {
      throw new IllegalArgumentException("a lock's name must not be empty");
    }
    return checkedPrefix(name);
  }

  /** Checks a prefix of names, which may be empty. */
  static String checkedPrefix(String name) {
    requireNonNull(name, "prefix");
    // Names are short, so a plain scan is cheap, and most are ASCII.
    int codePoints = 0;
    for (int i = 0; i < name.length(); codePoints++) {
      int c = name.codePointAt(i);
      if (c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE) {
        throw new IllegalArgumentException(
            "a lock's name must be well-formed Unicode; there is half a surrogate pair at index "
                + i);
      }
      i += Character.charCount(c);
    }
    if (codePoints > LONGEST) {
      throw new IllegalArgumentException(
          "a lock's name must have at most " + LONGEST + " characters, not " + codePoints);
    }
    return name;
  }

  static ImmutableList<String> checkedSet(Collection<String> names) {
    requireNonNull(names, "names");
    TreeSet<String> sorted = new TreeSet<>(BY_CODE_POINT);
    for (String name : names) {
      sorted.add(checked(name));
    }
    if (sorted.isEmpty()) {
      throw new IllegalArgumentException("at least one name is needed");
    }
    return ImmutableList.copyOf(sorted);
  }
}
