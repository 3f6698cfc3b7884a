package dev.interlock.internal;

import static dev.interlock.internal.Arguments.checkArgument;
import static java.util.Objects.requireNonNull;

import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;

/** The rules for names, and the order in which several are acquired. */
final class Names {

  static final int MAX_LENGTH = 255;

  /**
   * Orders names by code point, which differs from {@link String#compareTo} beyond the basic plane.
   */
  static final Comparator<String> BY_CODE_POINT =
      Comparator.comparing(name -> name.codePoints().toArray(), Arrays::compare);

  private Names() {}

  static String checked(String name) {
    requireNonNull(name, "name");
    checkArgument(!name.isEmpty(), "a lock's name must not be empty");
    return checkedPrefix(name);
  }

  /** Checks a prefix of names, which may be empty. */
  static String checkedPrefix(String name) {
    requireNonNull(name, "prefix");
    for (int at = 0; at < name.length(); at = name.offsetByCodePoints(at, 1)) {
      int character = name.codePointAt(at);
      if (Character.isBmpCodePoint(character) && Character.isSurrogate((char) character)) {
        throw new IllegalArgumentException(
            "a lock's name must be well-formed Unicode: unpaired surrogate at index " + at);
      }
    }
    int length = name.codePointCount(0, name.length());
    checkArgument(
        length <= MAX_LENGTH,
        "a lock's name must have at most %s characters, not %s",
        MAX_LENGTH,
        length);
    return name;
  }

  static List<String> checkedSet(Collection<String> names) {
    requireNonNull(names, "names");
    List<String> sorted =
        names.stream().map(Names::checked).distinct().sorted(BY_CODE_POINT).toList();
    checkArgument(!sorted.isEmpty(), "at least one name is needed");
    return sorted;
  }
}
