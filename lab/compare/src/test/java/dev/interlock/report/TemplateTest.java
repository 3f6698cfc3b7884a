package dev.interlock.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Tests tables, pages and records as the reports write them. */
class TemplateTest {

  private record Model(String title, Table table) {}

  private record Document(
      Duration took, Instant started, @Nullable String note, List<Unit> units) {}

  @Test
  void aPageShowsItsTableAndEscapesIt() {
    Table table = new Table(List.of("", "a<b"), List.of(List.of("x", "1")), List.of("y: \"none\""));
    String page = Template.render(TemplateTest.class, "test.mustache", new Model("A & B", table));
    assertTrue(page.startsWith("<!DOCTYPE html>"), page);
    assertTrue(page.contains("<title>A &amp; B</title>"), page);
    assertTrue(page.contains("--paper: #ffffff"), page);
    assertTrue(page.contains("<th scope=\"col\">a&lt;b</th>"), page);
    assertTrue(page.contains("<tr><th scope=\"row\">x</th><td>1</td></tr>"), page);
    assertTrue(page.contains("<li>y: &quot;none&quot;</li>"), page);
  }

  @Test
  void aMissingTemplateIsAnError() {
    assertThrows(
        RuntimeException.class, () -> Template.render(TemplateTest.class, "none.mustache", ""));
  }

  @Test
  void aRecordIsWrittenByItsComponents() {
    Document document =
        new Document(
            Duration.ofMillis(1_500),
            Instant.parse("2026-01-02T03:04:05Z"),
            null,
            List.of(Unit.BYTES));
    assertEquals(
        """
        {
          "took": 1.5,
          "started": "2026-01-02T03:04:05Z",
          "units": [
            "B"
          ]
        }
        """,
        Json.of(document));
  }
}
