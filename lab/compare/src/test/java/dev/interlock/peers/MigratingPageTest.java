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

/** Every call in the tables of docs/migrating.md is compiled, on both sides. */
class MigratingPageTest {
  private static final Pattern CODE = Pattern.compile("`([^`]+)`");

  @Test
  void everyCallOfTheTablesIsPartOfCodeThatIsCompiled() throws IOException {
    String compiled =
        withoutSpace(
            Files.readString(Path.of("src/test/java/dev/interlock/peers/MigrationExamples.java")));
    List<String> calls = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of("../../docs/migrating.md"))) {
      String[] cells = line.split("(?<!\\\\)\\|", -1);
      if (line.startsWith("|") && cells.length > 3) {
        Matcher code = CODE.matcher(cells[1] + cells[2]);
        while (code.find()) {
          calls.add(code.group(1));
        }
      }
    }
    assertTrue(calls.size() > 80, () -> "found only " + calls);
    for (String call : calls) {
      assertTrue(compiled.contains(withoutSpace(call)), () -> "is not compiled: " + call);
    }
  }

  private static String withoutSpace(String code) {
    return code.replaceAll("\\s", "");
  }
}
