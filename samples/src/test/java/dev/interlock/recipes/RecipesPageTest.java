package dev.interlock.recipes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The page shows the code that the other tests run. */
class RecipesPageTest {
  private static final Pattern BLOCK = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

  @Test
  void everyExcerptIsPartOfTheCodeThatIsCompiledAndRun() throws IOException {
    String code = unindented(sources());
    List<String> excerpts =
        BLOCK
            .matcher(Files.readString(Path.of("../docs/recipes.md")))
            .results()
            .map(MatchResult::group)
            .map(block -> block.substring("```java\n".length(), block.length() - "```".length()))
            .toList();
    assertEquals(11, excerpts.size());
    for (String excerpt : excerpts) {
      assertTrue(
          code.contains(unindented(excerpt)), () -> "no longer part of the code:\n" + excerpt);
    }
  }

  private static String sources() throws IOException {
    StringBuilder code = new StringBuilder();
    try (Stream<Path> files = Files.walk(Path.of("src"))) {
      for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
        code.append(Files.readString(file));
      }
    }
    return code.toString();
  }

  private static String unindented(String code) {
    return code.lines().map(String::strip).collect(Collectors.joining("\n"));
  }
}
