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
 * A line of the file is {@code MODULE SUITE SECONDS}.
 */
final class SuiteTimes {
  static final String HEADER = "# Module, test class, seconds. See docs/how-it-is-tested.md";

  /** For a suite that has never been run. */
  private static final Duration GUESS = Duration.ofSeconds(10);

  private final Map<String, Long> times = new TreeMap<>();

  static SuiteTimes read(Path file) throws IOException {
    SuiteTimes times = new SuiteTimes();
    for (String line : Files.readAllLines(file)) {
      String[] words = line.strip().split(" +");
      if (words.length >= 3 && words[2].matches("[0-9]+")) {
        times.times.put(words[0] + " " + words[1], Long.parseLong(words[2]));
      }
    }
    return times;
  }

  Suite suite(MavenModule module, String className) {
    String simple = className.substring(className.lastIndexOf('.') + 1);
    Long known = times.get(module.name() + " " + simple);
    return known == null
        ? new Suite(module, className, GUESS, false)
        : new Suite(module, className, Duration.ofSeconds(known), true);
  }

  void took(SuiteResult result) {
    long seconds = Math.max(1, result.took().plusMillis(500).toSeconds());
    times.put(result.suite().toString(), seconds);
  }

  void write(Path file) throws IOException {
    List<String> lines = new ArrayList<>(List.of(HEADER));
    times.forEach((suite, seconds) -> lines.add(suite + " " + seconds));
    Files.createDirectories(file.getParent());
    Files.write(file, lines);
  }
}
