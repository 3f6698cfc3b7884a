package dev.interlock.site;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SiteTest {
  private static final Path TOP = Path.of("../..").toAbsolutePath().normalize();

  @TempDir static Path site;

  @BeforeAll
  static void write() throws IOException {
    Site.main(new String[] {TOP.toString(), site.toString()});
  }

  @Test
  void everyLinkLeadsToAPageAndAHeadingOfTheSite() throws IOException {
    TreeSet<String> broken = new TreeSet<>();
    Map<Path, String> texts = new HashMap<>();
    for (Path page : pages()) {
      texts.put(page, Files.readString(page));
    }
    for (Path page : texts.keySet()) {
      for (String link : matches("(?:href|src)=\"([^\"]+)\"", texts.get(page))) {
        if (link.contains("://") || link.endsWith("apidocs/index.html")) {
          continue;
        }
        String[] parts = link.split("#", 2);
        Path target = parts[0].isEmpty() ? page : page.resolveSibling(parts[0]).normalize();
        boolean leads =
            Files.exists(target)
                && (parts.length == 1 || texts.get(target).contains("id=\"" + parts[1] + "\""));
        if (!leads) {
          broken.add(site.relativize(page) + " -> " + link);
        }
      }
    }
    assertEquals(new TreeSet<>(), broken);
  }

  @Test
  void everyPageIsInTheMenu() throws IOException {
    String menu = Files.readString(site.resolve("index.html"));
    List<String> missing =
        pages().stream()
            .map(page -> site.relativize(page).toString())
            .filter(page -> page.startsWith("docs/") && !page.equals("docs/README.html"))
            .filter(page -> Files.exists(TOP.resolve(page.replaceFirst("html$", "md"))))
            .filter(page -> !menu.contains("href=\"" + page + "\""))
            .toList();
    assertEquals(List.of(), missing);
  }

  @Test
  void theSearchKnowsTheSectionsOfAllPages() throws IOException {
    String index = Files.readString(site.resolve("search-index.js"));
    assertTrue(index.contains("\"address\":\"docs/using.html#release\""), "a section");
    assertTrue(index.contains("\"address\":\"docs/backends/etcd.html\""), "a page's beginning");
  }

  private static List<Path> pages() throws IOException {
    try (Stream<Path> files = Files.walk(site)) {
      return files.filter(file -> file.toString().endsWith(".html")).toList();
    }
  }

  private static List<String> matches(String pattern, String text) {
    return Pattern.compile(pattern)
        .matcher(text)
        .results()
        .map((MatchResult match) -> match.group(1))
        .toList();
  }
}
