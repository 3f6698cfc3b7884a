package dev.interlock.repository;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The messages with which rules refuse specimens still exist. Most builds run only a sample of the
 * specimens, so they would not notice that a message was changed.
 */
class SpecimenMessagesTest {
  private static final Path TOP = Path.of("..").toAbsolutePath().normalize();

  /** A call, or a line of the table in {@code CustomSpecimens}. */
  private static final Pattern EXPECTATION =
      Pattern.compile(
          "\\.refusedBy(?:Since)?\\(\\s*(?:\\d+,\\s*)?\"[A-Z]+-\\d\\d\",\\s*\"((?:[^\"\\\\]|\\\\.)*)\"\\)"
              + "|^ +(?:both|plain|queue) \\| [^|\n]+ \\| [A-Z]+-\\d\\d \\| ?(.*)$",
          Pattern.MULTILINE);

  /** Texts of the JDK, JUnit and the stores, and values. */
  private static final Set<String> FROM_ELSEWHERE =
      Set.of(
          "<ALREADY_LOST>",
          "[4, 3, 2, 1, 0]",
          "NOSCRIPT",
          "No value present",
          "expected: <java.lang.IllegalStateException>",
          "lost (TAKEN)");

  @Test
  void everyExpectedMessageIsInTheSources() throws IOException {
    List<String> expected = new ArrayList<>();
    StringBuilder sources = new StringBuilder();
    for (Path file : sources()) {
      String code = Files.readString(file);
      if (code.contains("refusedBy")) {
        code = joined(code);
        EXPECTATION
            .matcher(code)
            .results()
            .map(match -> match.group(1) == null ? match.group(2) : match.group(1))
            .forEach(expected::add);
        // A specimen may fail with an exception of its own.
        sources.append(EXPECTATION.matcher(code).replaceAll("")).append('\n');
      } else if (file.toString().matches(".*/lock-(tck|api)/src/main/.*")) {
        sources.append(joined(code)).append('\n');
      }
    }
    String texts = sources.toString();
    assertTrue(expected.size() > 300, () -> "only " + expected.size() + " messages were found");
    expected.removeIf(message -> FROM_ELSEWHERE.contains(message) || occurs(message, texts));
    assertEquals(List.of(), expected, "messages that no rule can have");
  }

  private static String joined(String code) {
    return code.replaceAll("\"\\s*\\+\\s*\"", "");
  }

  /** {@return whether the sources contain the parts of a message, between which are numbers} */
  private static boolean occurs(String message, String texts) {
    return Stream.of(message.split("\\d+")).allMatch(texts::contains);
  }

  private static List<Path> sources() throws IOException {
    List<Path> sources = new ArrayList<>();
    try (Stream<Path> folders = Files.list(TOP)) {
      for (Path folder : folders.toList()) {
        if (folder.getFileName().toString().matches("lock-.*|lab")) {
          try (Stream<Path> files = Files.walk(folder)) {
            files
                .filter(file -> file.toString().matches(".*/src/(main|test)/java/.*[.]java"))
                .forEach(sources::add);
          }
        }
      }
    }
    return sources;
  }
}
