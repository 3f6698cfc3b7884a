package dev.interlock.peers;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Tests that every call in the tables of docs/migrating.md compiles, where the page says so on
 * Interlock's side alone.
 */
class MigratingPageTest {
  private static final Pattern CODE = Pattern.compile("`([^`]+)`");
  private static final String ONE_SIDE = "<!-- only the second column is compiled -->";

  @Test
  void everyCallInTheTablesIsCompiled() throws IOException {
    String compiled =
        withoutSpace(
            Files.readString(Path.of("src/test/java/dev/interlock/peers/MigrationExamples.java")));
    List<String> calls = new ArrayList<>();
    boolean isOneSided = false;
    for (String line : Files.readAllLines(Path.of("../../docs/migrating.md"))) {
      if (line.equals(ONE_SIDE)) {
        isOneSided = true;
      } else if (line.startsWith("## ")) {
        isOneSided = false;
      }
      String[] cells = line.split("(?<!\\\\)\\|", -1);
      if (line.startsWith("|") && cells.length > 3) {
        Matcher code = CODE.matcher(isOneSided ? cells[2] : cells[1] + cells[2]);
        while (code.find()) {
          calls.add(code.group(1));
        }
      }
    }
    assertTrue(calls.size() > 80, () -> "found only these calls: " + calls);
    for (String call : calls) {
      assertTrue(
          compiled.contains(withoutSpace(call)),
          () -> "MigrationExamples does not contain " + call);
    }
  }

  private static String withoutSpace(String code) {
    return code.replaceAll("\\s", "");
  }
}
