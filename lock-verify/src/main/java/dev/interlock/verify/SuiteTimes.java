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
 * How long suites took when they were last run: the slowest are started first, and what is left of
 * a run can be estimated. A line of the file is {@code MODULE SUITE SECONDS CPU_SECONDS}.
 */
final class SuiteTimes {
  /** What a suite is taken for that has never been run. */
  private static final Duration GUESS = Duration.ofSeconds(10);

  private record Times(long seconds, long cpuSeconds) {}

  private final Map<String, Times> times = new TreeMap<>();

  static SuiteTimes read(Path file) throws IOException {
    SuiteTimes times = new SuiteTimes();
    for (String line : Files.readAllLines(file)) {
      String[] words = line.strip().split(" +");
      if (words.length == 4 && (words[2] + words[3]).matches("[0-9]+")) {
        times.times.put(
            words[0] + " " + words[1],
            new Times(Long.parseLong(words[2]), Long.parseLong(words[3])));
      }
    }
    return times;
  }

  Suite suite(MavenModule module, String className) {
    String simple = className.substring(className.lastIndexOf('.') + 1);
    Times known = times.get(module.name() + " " + simple);
    return known == null
        ? new Suite(module, className, GUESS, Duration.ZERO, false)
        : new Suite(
            module,
            className,
            Duration.ofSeconds(known.seconds),
            Duration.ofSeconds(known.cpuSeconds),
            true);
  }

  void took(SuiteResult result) {
    times.put(
        result.suite().toString(), new Times(rounded(result.took()), rounded(result.cpuTime())));
  }

  private static long rounded(Duration time) {
    return Math.max(1, time.plusMillis(500).toSeconds());
  }

  void write(Path file) throws IOException {
    List<String> lines = new ArrayList<>();
    times.forEach((suite, time) -> lines.add(suite + " " + time.seconds + " " + time.cpuSeconds));
    Files.createDirectories(file.getParent());
    Files.write(file, lines);
  }
}
