package dev.interlock.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests which directories a report may be written to. */
class ReportDirectoryTest {
  private static final Map<String, String> RESULTS = Map.of("interlock", "interlock 1");

  @TempDir private Path directory;

  @Test
  void aMissingDirectoryIsCreatedWithTheReport() {
    Path path = directory.resolve("new/report");
    ReportDirectory report = ReportDirectory.at(path);
    assertFalse(Files.exists(path)); // it is created only with the report
    assertEquals(path.resolve("index.html"), report.write("<html>", RESULTS, "# Report"));
    assertTrue(Files.exists(path.resolve("results.json")));
  }

  @Test
  void anEarlierReportIsReplaced() throws Exception {
    ReportDirectory.at(directory).write("first", RESULTS, "");
    ReportDirectory.at(directory).write("second", RESULTS, "");
    assertEquals("second", Files.readString(directory.resolve("index.html")));
  }

  @Test
  void aFileOfSomeoneElseIsNotReplaced() throws Exception {
    Files.writeString(directory.resolve("results.json"), "{\"ours\": false}");
    assertRefused(directory, "will not replace " + directory.resolve("results.json"));
    Files.delete(directory.resolve("results.json"));
    Files.writeString(directory.resolve("index.html"), "my page");
    assertRefused(directory, "will not replace " + directory.resolve("index.html"));
  }

  @Test
  void aPathThatIsNotADirectoryIsRefusedWithTheReason() throws Exception {
    Path file = Files.writeString(directory.resolve("file"), "");
    assertRefused(file, "cannot write to " + file + ": java.nio.file.FileAlreadyExistsException");
    assertRefused(file.resolve("report"), "Not a directory");
  }

  private static void assertRefused(Path path, String part) {
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> ReportDirectory.at(path));
    assertTrue(refused.getMessage().contains(part), refused::getMessage);
  }
}
