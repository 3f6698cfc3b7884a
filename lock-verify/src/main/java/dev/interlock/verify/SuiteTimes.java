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
 * a run can be estimated. A line of the file is {@code MODULE SUITE SECONDS}.
 */
final class SuiteTimes {
  /** What a suite is taken for that has never been run. */
  private static final Duration GUESS = Duration.ofSeconds(10);

  private final Map<String, Duration> times = new TreeMap<>();

  /** Reads the files that exist; a later one counts for more. */
  static SuiteTimes read(Path... files) throws IOException {
    SuiteTimes times = new SuiteTimes();
    for (Path file : files) {
      if (Files.exists(file)) {
        for (String line : Files.readAllLines(file)) {
          String[] words = line.strip().split(" +");
          if (words.length == 3 && words[2].matches("[0-9]+")) {
            times.put(words[0] + " " + words[1], Duration.ofSeconds(Long.parseLong(words[2])));
          }
        }
      }
    }
    return times;
  }

  private void put(String suite, Duration time) {
    times.put(suite, time);
  }

  Suite suite(Module module, String className) {
    String simple = className.substring(className.lastIndexOf('.') + 1);
    Duration time = times.get(module.name() + " " + simple);
    return new Suite(module, className, time == null ? GUESS : time, time != null);
  }

  void took(Suite suite, Duration time) {
    put(suite.toString(), time);
  }

  void write(Path file) throws IOException {
    List<String> lines = new ArrayList<>();
    times.forEach((suite, time) -> lines.add(suite + " " + Math.max(1, time.toSeconds())));
    Files.createDirectories(file.getParent());
    Files.write(file, lines);
  }
}
