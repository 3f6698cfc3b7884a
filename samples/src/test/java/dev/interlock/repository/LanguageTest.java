package dev.interlock.repository;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Patterns that made sentences and names which one had to read twice; see CONTRIBUTING.md. */
class LanguageTest {
  private static final Path TOP = Path.of("..").toAbsolutePath().normalize();

  private static Stream<Arguments> rules() {
    return Stream.of(
        arguments(
            "a comment begins with its noun or verb, not with a clause",
            "/\\*\\*\\s+(\\*\\s+)?(What|How|The same)\\b"),
        arguments(
            "a limit is called MAX_, MIN_ or …_TIMEOUT",
            "static final [^=;{(]*\\b(\\w+_)?(MOST|LEAST|LONGEST|SHORTEST|ENOUGH|FEW|PATIENCE|REST)(_\\w+)? ="),
        arguments(
            "a command is an imperative, a callback begins with on",
            "\\bvoid (failed|answered|lost|gone|refused|granted|ended)\\("),
        arguments(
            "a local variable is named for the thing, not for its grammar",
            "(?<!return|throw) (\\w+|\\w+<[^=;()]*>) (present|held|left|known|had|made|went|few) = "));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("rules")
  void theCodeKeeps(String rule, String pattern) throws IOException {
    List<String> broken = new ArrayList<>();
    for (Path source : sources()) {
      String code = Files.readString(source);
      Matcher matcher = Pattern.compile(pattern).matcher(code);
      while (matcher.find()) {
        long line = 1 + code.substring(0, matcher.start()).lines().count();
        broken.add(TOP.relativize(source) + ":" + line + " " + matcher.group());
      }
    }
    assertEquals(List.of(), broken, rule);
  }

  private static List<Path> sources() throws IOException {
    try (Stream<Path> files = Files.walk(TOP, 1)) {
      List<Path> sources = new ArrayList<>();
      for (Path folder : files.filter(Files::isDirectory).toList()) {
        String name = folder.getFileName().toString();
        if (name.matches("lock-.*|lab|integrations|samples")) {
          try (Stream<Path> below = Files.walk(folder)) {
            below
                .filter(file -> file.toString().contains("/src/main/java/"))
                .filter(file -> file.toString().endsWith(".java"))
                .forEach(sources::add);
          }
        }
      }
      return sources;
    }
  }
}
