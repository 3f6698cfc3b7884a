package dev.interlock.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The directory that a report is written to. */
public final class ReportDirectory {
  private static final String HTML = "index.html";
  private static final String JSON = "results.json";
  private static final String MARKDOWN = "results.md";

  private final Path path;

  private ReportDirectory(Path path) {
    this.path = path;
  }

  /**
   * {@return a directory that a report can be written to; a missing one is created with the report}
   *
   * @throws IllegalArgumentException if no file can be written there, or if a file in the report's
   *     place is not from an earlier report
   */
  public static ReportDirectory at(Path path) {
    try {
      boolean isNew = Files.notExists(path);
      Files.createDirectories(path);
      Files.delete(Files.createTempFile(path, "probe", ""));
      if (isNew) {
        Files.delete(path);
      }
      for (String name : List.of(JSON, HTML, MARKDOWN)) {
        if (Files.exists(path.resolve(name)) && !holdsReport(path)) {
          throw new IllegalArgumentException(
              "will not replace " + path.resolve(name) + ", which is not from an earlier report");
        }
      }
      return new ReportDirectory(path);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "cannot write to " + path + ": " + Failures.describe(e), e);
    }
  }

  /** All our reports name the program and its version. */
  private static boolean holdsReport(Path path) throws IOException {
    Path json = path.resolve(JSON);
    return Files.exists(json) && Files.readString(json).contains("\"interlock\": ");
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
    Path index = path.resolve(HTML);
    try {
      Files.createDirectories(path);
      Files.writeString(index, html);
      Files.writeString(path.resolve(JSON), Json.of(json));
      Files.writeString(path.resolve(MARKDOWN), markdown);
      return index;
    } catch (IOException e) {
      throw new IllegalStateException("cannot write the report: " + Failures.describe(e), e);
    }
  }
}
