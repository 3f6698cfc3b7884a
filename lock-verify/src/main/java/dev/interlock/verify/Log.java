package dev.interlock.verify;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;

/** The file to which all that suites print is appended, one suite after the other. */
final class Log {
  private final Path file;

  Log(Path file) {
    this.file = file;
  }

  /**
   * Appends what a suite has printed, and how its tests ended.
   *
   * @param output the file to which its JVM prints
   * @param from where in the file its own output begins
   */
  synchronized void append(SuiteResult result, Path output, long from) throws IOException {
    StringBuilder text = new StringBuilder();
    for (TestResult test : result.tests()) {
      text.append(
          String.format(
              Locale.ROOT,
              "%-14s %8s  %s %s%n",
              test.status().label.toLowerCase(Locale.ROOT),
              Durations.seconds(test.took()),
              test.method(),
              test.title().equals(test.method() + "()") ? "" : test.title()));
      if (!test.reason().isEmpty()) {
        text.append("    ").append(test.reason().replace("\n", "\n    ")).append('\n');
      }
      text.append(test.trace());
    }
    try (OutputStream out =
        Files.newOutputStream(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
      write(out, "\n===== " + result.suite() + ": its output\n\n");
      try (InputStream in = Files.newInputStream(output)) {
        in.skipNBytes(from);
        in.transferTo(out);
      }
      write(out, "\n===== " + result.suite() + ": " + result.summary() + "\n\n" + text);
    }
  }

  private static void write(OutputStream out, String text) throws IOException {
    out.write(text.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public String toString() {
    return file.toString();
  }
}
