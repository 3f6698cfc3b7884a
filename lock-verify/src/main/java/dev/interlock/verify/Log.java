package dev.interlock.verify;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The file to which all that suites print is appended, one suite after the other. */
final class Log {
  private final Path file;

  Log(Path file) {
    this.file = file;
  }

  synchronized void append(SuiteResult result, Path output) throws IOException {
    StringBuilder text = new StringBuilder();
    for (TestResult test : result.tests()) {
      text.append(
          String.format(
              "%-14s %6.1f s  %s %s%n",
              test.status().name().toLowerCase(java.util.Locale.ROOT).replace('_', ' '),
              test.took().toMillis() / 1e3,
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
      Files.copy(output, out);
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
