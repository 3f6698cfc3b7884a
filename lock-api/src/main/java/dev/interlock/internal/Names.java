package dev.interlock.internal;

import static com.google.common.base.Preconditions.checkArgument;
import static java.util.Objects.requireNonNull;

import com.google.common.base.Utf8;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;

/** Which names are allowed, and in which order several are acquired. */
final class Names {

  static final int LONGEST = 255;

  /** By code point, which differs from {@link String#compareTo} beyond the basic plane. */
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
    try {
      var unused = Utf8.encodedLength(name);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "a lock's name must be well-formed Unicode: " + e.getMessage(), e);
    }
    int length = name.codePointCount(0, name.length());
    checkArgument(
        length <= LONGEST,
        "a lock's name must have at most %s characters, not %s",
        LONGEST,
        length);
    return name;
  }

  static ImmutableList<String> checkedSet(Collection<String> names) {
    requireNonNull(names, "names");
    ImmutableList<String> sorted =
        names.stream()
            .map(Names::checked)
            .collect(ImmutableSortedSet.toImmutableSortedSet(BY_CODE_POINT))
            .asList();
    checkArgument(!sorted.isEmpty(), "at least one name is needed");
    return sorted;
  }
}
