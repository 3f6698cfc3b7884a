package dev.interlock.bench.peers;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What was asked for on the command line.
 *
 * @param backends which stores, in the order of the report
 * @param effort how much
 * @param out where the report goes; empty for standard output
 */
record Arguments(Set<Backend> backends, Effort effort, Optional<Path> out) {
  static final String USAGE =
      "usage: tools/bench peers [" + names("|") + " ...] [--rounds N] [--quick] [--out FILE.md]";

  private static final int MOST_ROUNDS = 1_000;

  /**
   * Reads them.
   *
   * @throws IllegalArgumentException if they are wrong; the message says what would be right
   */
  static Arguments parse(List<String> words) {
    Set<Backend> backends = EnumSet.noneOf(Backend.class);
    Effort effort = Effort.usual();
    Optional<Integer> rounds = Optional.empty();
    Optional<Path> out = Optional.empty();
    Iterator<String> left = words.iterator();
    while (left.hasNext()) {
      String word = left.next();
      switch (word) {
        case "--quick" -> effort = Effort.quick();
        case "--rounds" -> rounds = Optional.of(rounds(value(word, left)));
        case "--out" -> out = Optional.of(out(value(word, left)));
        default -> backends.add(backend(word));
      }
    }
    return new Arguments(
        backends.isEmpty() ? EnumSet.allOf(Backend.class) : backends,
        rounds.map(effort::withRounds).orElse(effort),
        out);
  }

  private static String value(String option, Iterator<String> left) {
    if (!left.hasNext()) {
      throw new IllegalArgumentException(option + " needs a value");
    }
    return left.next();
  }

  private static int rounds(String text) {
    try {
      int rounds = Integer.parseInt(text);
      if (rounds >= 1 && rounds <= MOST_ROUNDS) {
        return rounds;
      }
    } catch (NumberFormatException e) {
      // told below
    }
    throw new IllegalArgumentException(
        "--rounds takes a number from 1 to " + MOST_ROUNDS + ", not \"" + text + "\"");
  }

  private static Path out(String text) {
    Path file = Path.of(text).toAbsolutePath();
    Path directory = file.getParent();
    if (Files.isDirectory(file) || directory == null || !Files.isWritable(directory)) {
      throw new IllegalArgumentException(
          "--out takes a file in a directory that can be written to, not \"" + text + "\"");
    }
    return file;
  }

  private static Backend backend(String word) {
    return Stream.of(Backend.values())
        .filter(backend -> backend.toString().equals(word))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "\"" + word + "\" is neither an option nor one of " + names(", ")));
  }

  private static String names(String between) {
    return Stream.of(Backend.values())
        .map(backend -> backend.name().toLowerCase(Locale.ROOT))
        .collect(Collectors.joining(between));
  }
}
