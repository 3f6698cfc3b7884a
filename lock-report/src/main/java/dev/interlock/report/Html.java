package dev.interlock.report;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Small pieces of HTML. */
public final class Html {
  private Html() {}

  /** A whole page that needs nothing else. */
  public static String page(String title, String body) {
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        + "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        + "<link rel=\"icon\" href=\"data:,\">\n"
        + element("title", title)
        + "<style>\n"
        + style()
        + "</style>\n</head>\n<body>\n"
        + body
        + "</body>\n</html>\n";
  }

  private static String style() {
    try (InputStream css = Html.class.getResourceAsStream("report.css")) {
      if (css == null) {
        throw new IllegalStateException("report.css is missing from this build");
      }
      return new String(css.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Text, escaped. */
  public static String text(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }

  /** An element with nothing but text in it. */
  public static String element(String name, String text) {
    return "<" + name + ">" + text(text) + "</" + name + ">\n";
  }

  /** A table whose first column names the rows; cells are HTML already. */
  public static String table(String style, List<String> head, List<List<String>> rows) {
    StringBuilder table =
        new StringBuilder("<div class=\"scroll\"><table class=\"" + style + "\">\n<thead><tr>");
    head.forEach(cell -> table.append("<th scope=\"col\">").append(cell).append("</th>"));
    table.append("</tr></thead>\n<tbody>\n");
    for (List<String> row : rows) {
      table.append("<tr><th scope=\"row\">").append(row.get(0)).append("</th>");
      row.subList(1, row.size()).forEach(cell -> table.append("<td>").append(cell).append("</td>"));
      table.append("</tr>\n");
    }
    return table.append("</tbody></table></div>\n").toString();
  }

  /** A list, or nothing. */
  public static String notes(List<String> notes) {
    StringBuilder list = new StringBuilder();
    if (!notes.isEmpty()) {
      list.append("<ul class=\"notes\">\n");
      notes.forEach(note -> list.append(element("li", note)));
      list.append("</ul>\n");
    }
    return list.toString();
  }
}
