package dev.interlock.verify;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * How long suites take: the slowest are started first, and what is left of a run can be estimated.
 * A line of the file is {@code MODULE SUITE SECONDS}, followed by {@code alone} for a suite whose
 * servers keep both processors busy: beside another one they would answer too late.
 */
final class SuiteTimes {
  static final String HEADER =
      "# Module, test class, seconds; alone: nothing else runs beside it. See docs/how-it-is-tested.md";

  /** For a suite that has never been run. */
  private static final Duration GUESS = Duration.ofSeconds(10);

  private record Times(long seconds, boolean alone) {}

  private final Map<String, Times> times = new TreeMap<>();

  static SuiteTimes read(Path file) throws IOException {
    SuiteTimes times = new SuiteTimes();
    for (String line : Files.readAllLines(file)) {
      String[] words = line.strip().split(" +");
      if (words.length >= 3 && words[2].matches("[0-9]+")) {
        boolean alone = words.length > 3 && words[3].equals("alone");
        times.times.put(words[0] + " " + words[1], new Times(Long.parseLong(words[2]), alone));
      }
    }
    return times;
  }

  Suite suite(MavenModule module, String className) {
    String simple = className.substring(className.lastIndexOf('.') + 1);
    Times known = times.get(module.name() + " " + simple);
    return known == null
        ? new Suite(module, className, GUESS, false, false)
        : new Suite(module, className, Duration.ofSeconds(known.seconds), known.alone, true);
  }

  void took(SuiteResult result) {
    long seconds = Math.max(1, result.took().plusMillis(500).toSeconds());
    times.put(result.suite().toString(), new Times(seconds, result.suite().alone()));
  }

  void write(Path file) throws IOException {
    List<String> lines = new ArrayList<>(List.of(HEADER));
    times.forEach(
        (suite, time) -> lines.add(suite + " " + time.seconds + (time.alone ? " alone" : "")));
    Files.createDirectories(file.getParent());
    Files.write(file, lines);
  }
}
