package dev.interlock.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The directory that a report is written to. */
public final class ReportDirectory {
  private final Path path;

  private ReportDirectory(Path path) {
    this.path = path;
  }

  /**
   * {@return the directory, created if it is missing}
   *
   * @throws IllegalArgumentException if no file can be written there
   */
  public static ReportDirectory at(Path path) {
    try {
      Files.createDirectories(path);
      Files.delete(Files.createTempFile(path, "probe", ""));
      return new ReportDirectory(path);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "cannot write to " + path + ": " + Failures.describe(e), e);
    }
  }

  /** {@return a path inside the directory} */
  public Path resolve(String name) {
    return path.resolve(name);
  }

  /**
   * Writes the report in all its forms.
   *
   * @param html becomes {@code index.html}
   * @param json becomes {@code results.json}, as {@link Json} writes it
   * @param markdown becomes {@code results.md}
   * @return {@code index.html}
   */
  public Path write(String html, Object json, String markdown) {
    Path index = path.resolve("index.html");
    try {
      Files.writeString(index, html);
      Files.writeString(path.resolve("results.json"), Json.of(json));
      Files.writeString(path.resolve("results.md"), markdown);
      return index;
    } catch (IOException e) {
      throw new IllegalStateException("cannot write the report: " + Failures.describe(e), e);
    }
  }
}
