package dev.interlock.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A directory to which a report can be written. */
public final class ReportDirectory {
  private static final String HTML = "index.html";
  private static final String JSON = "results.json";
  private static final String MARKDOWN = "results.md";

  private final Path path;

  private ReportDirectory(Path path) {
    this.path = path;
  }

  /**
   * {@return the directory, after checking that a report can be written to it} A missing directory
   * is created when the report is written.
   *
   * @throws IllegalArgumentException if no file can be written there, or if the report would
   *     replace a file that is not from an earlier report
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

  /** Recognizes a report of ours: each has the field {@code interlock}. */
  private static boolean holdsReport(Path path) throws IOException {
    Path json = path.resolve(JSON);
    return Files.exists(json) && Files.readString(json).contains("\"interlock\": ");
  }

  /**
   * Writes the report as HTML, JSON and Markdown.
   *
   * @param html the content of {@code index.html}
   * @param json the content of {@code results.json}, which {@link Json} serializes
   * @param markdown the content of {@code results.md}
   * @return the path of {@code index.html}
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
