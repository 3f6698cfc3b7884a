package dev.interlock.tutorial;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class TutorialPageTest {

  private static final Path SOURCES = Path.of("src/test/java/dev/interlock/tutorial");
  private static final Pattern BLOCK = Pattern.compile("```(?:java|sql)\n(.*?)```", Pattern.DOTALL);

  @Test
  void everyExcerptIsPartOfTheCodeThatIsCompiledAndRun() throws IOException {
    String code =
        Files.readString(SOURCES.resolve("TutorialBackend.java"))
            + Files.readString(SOURCES.resolve("TutorialProvider.java"))
            + Files.readString(Path.of("src/test/resources/dev/interlock/tutorial/schema.sql"))
            + Files.readString(Path.of("../lock-tck/src/main/java/dev/interlock/tck/LockTck.java"))
                .replace(" * ", "");
    List<String> excerpts = excerpts();
    assertTrue(excerpts.size() > 3, () -> "found only " + excerpts);
    for (String excerpt : excerpts) {
      assertTrue(code.contains(excerpt), () -> "no longer part of the code:\n" + excerpt);
    }
  }

  @Test
  void theBackendIsAsSmallAsThePageSays() throws IOException {
    int lines =
        Files.readAllLines(SOURCES.resolve("TutorialBackend.java")).size()
            + Files.readAllLines(SOURCES.resolve("TutorialProvider.java")).size();
    assertTrue(lines < 275, () -> lines + " lines");
  }

  private static List<String> excerpts() throws IOException {
    Matcher blocks = BLOCK.matcher(Files.readString(Path.of("../docs/writing-a-backend.md")));
    List<String> excerpts = new ArrayList<>();
    while (blocks.find()) {
      excerpts.add(blocks.group(1));
    }
    return excerpts;
  }
}
