package dev.interlock.report;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * A table for a terminal, for Markdown, and, by {@code table.mustache}, for HTML.
 *
 * @param style the class of the table in HTML: {@code words} if its cells are no numbers; or empty
 * @param head the columns' heads; the first column names the rows
 * @param rows each with as many cells as the head
 * @param notes lines that follow the table
 */
public record Table(String style, List<String> head, List<List<String>> rows, List<String> notes) {
  /** Outside of code, in which it stands for itself: an even number of backquotes follows. */
  private static final Pattern LESS_THAN = Pattern.compile("<(?=([^`]*`[^`]*`)*[^`]*$)");

  /** A table of numbers. */
  public Table(List<String> head, List<List<String>> rows, List<String> notes) {
    this("", head, rows, notes);
  }

  /** {@return this table, as one of words} */
  public Table words() {
    return new Table("words", head, rows, notes);
  }

  /** {@return whether there is a row to show} */
  public boolean shown() {
    return !rows.isEmpty();
  }

  /** {@return whether there is a note} */
  public boolean noted() {
    return !notes.isEmpty();
  }

  /** {@return the table for a terminal} */
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

  /** {@return the table in Markdown} */
  public String markdown() {
    StringBuilder text = new StringBuilder();
    if (!rows.isEmpty()) {
      text.append(row(head));
      String rule = style.isEmpty() ? "---:|" : "---|"; // numbers are aligned to the right
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

  /** {@return the text as it may stand in a cell of Markdown} */
  public static String escape(String text) {
    return LESS_THAN.matcher(text.replace("|", "\\|")).replaceAll("&lt;");
  }
}
