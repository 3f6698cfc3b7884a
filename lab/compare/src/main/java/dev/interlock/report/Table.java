package dev.interlock.report;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * A table that can be rendered for a terminal, as Markdown and, by {@code table.mustache}, as HTML.
 *
 * @param style the CSS class of the HTML table: {@code words} if its cells are text, empty if they
 *     are numbers
 * @param head the column headings; the first column has the names of the rows
 * @param rows the rows, each with as many cells as {@code head}
 * @param notes lines below the table
 */
public record Table(String style, List<String> head, List<List<String>> rows, List<String> notes) {
  /** Matches {@code <} outside of Markdown code: an even number of backquotes follows it. */
  private static final Pattern LESS_THAN = Pattern.compile("<(?=([^`]*`[^`]*`)*[^`]*$)");

  /** Creates a table of numbers. */
  public Table(List<String> head, List<List<String>> rows, List<String> notes) {
    this("", head, rows, notes);
  }

  /** {@return this table, styled for text} */
  public Table words() {
    return new Table("words", head, rows, notes);
  }

  /** {@return whether the table has rows} */
  public boolean shown() {
    return !rows.isEmpty();
  }

  /** {@return whether the table has notes} */
  public boolean noted() {
    return !notes.isEmpty();
  }

  /** {@return the table as text with aligned columns} */
  public String text() {
    StringBuilder text = new StringBuilder();
    if (!rows.isEmpty()) {
      List<List<String>> lines = new ArrayList<>();
      lines.add(head);
      lines.addAll(rows);
      int[] widths = new int[head.size()];
      for (List<String> line : lines) {
        for (int i = 0; i < widths.length; i++) {
          widths[i] = Math.max(widths[i], line.get(i).length());
        }
      }
      for (List<String> line : lines) {
        StringBuilder row = new StringBuilder("  ");
        for (int i = 0; i < widths.length; i++) {
          String padding = " ".repeat(widths[i] - line.get(i).length());
          row.append(i == 0 ? line.get(i) + padding : "  " + padding + line.get(i));
        }
        text.append(row.toString().stripTrailing()).append('\n');
      }
    }
    notes.forEach(note -> text.append("  ").append(note).append('\n'));
    return text.toString();
  }

  /** {@return the table as Markdown} */
  public String markdown() {
    StringBuilder text = new StringBuilder();
    if (!rows.isEmpty()) {
      text.append(row(head));
      String rule = style.isEmpty() ? "---:|" : "---|"; // right-aligns numbers
      text.append("|---|").append(rule.repeat(head.size() - 1)).append('\n');
      rows.forEach(row -> text.append(row(row)));
    }
    if (!notes.isEmpty()) {
      text.append('\n');
      notes.forEach(note -> text.append("- ").append(escape(note)).append('\n'));
    }
    return text.toString();
  }

  private static String row(List<String> cells) {
    StringBuilder line = new StringBuilder("|");
    cells.forEach(cell -> line.append(' ').append(escape(cell)).append(" |"));
    return line.append('\n').toString();
  }

  /** {@return the text, escaped for a cell of a Markdown table} */
  public static String escape(String text) {
    return LESS_THAN.matcher(text.replace("|", "\\|")).replaceAll("&lt;");
  }
}
