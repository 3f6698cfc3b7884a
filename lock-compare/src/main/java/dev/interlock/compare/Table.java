package dev.interlock.compare;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Numbers of backends, ready to be written.
 *
 * @param head the first cell is empty, for the backend's name
 * @param rows a row for each backend that was measured
 * @param notes what was not measured, and why
 */
public record Table(List<String> head, List<List<String>> rows, List<String> notes) {

  static Table of(Scenario scenario, Comparison.Findings findings) {
    List<Scenario.Column> columns = new ArrayList<>();
    for (Scenario.Column column : scenario.columns(findings.effort())) {
      boolean known =
          findings.backends().stream()
              .anyMatch(one -> find(scenario, one, column, findings).isPresent());
      if (known) {
        columns.add(column);
      }
    }
    List<List<String>> rows = new ArrayList<>();
    List<String> notes = new ArrayList<>();
    for (Comparison.Participant backend : findings.backends()) {
      List<String> row = new ArrayList<>();
      row.add(backend.name());
      boolean any = false;
      for (Scenario.Column column : columns) {
        Optional<Measurement> cell = find(scenario, backend, column, findings);
        any |= cell.isPresent();
        row.add(cell.map(one -> one.metric().unit().format(one.value())).orElse("–"));
      }
      if (any) {
        rows.add(row);
      }
    }
    for (Results.Gap gap : findings.results().gaps()) {
      if (gap.scenario().equals(scenario.id())) {
        String how = gap.reason() == Results.Reason.FAILED ? " failed: " : ": ";
        notes.add(gap.backend() + how + gap.text());
      }
    }
    List<String> head = new ArrayList<>();
    head.add("");
    columns.forEach(column -> head.add(column.label()));
    return new Table(head, rows, notes);
  }

  private static Optional<Measurement> find(
      Scenario scenario,
      Comparison.Participant backend,
      Scenario.Column column,
      Comparison.Findings findings) {
    return findings.results().find(scenario.id(), backend.name(), column.metric(), column.point());
  }

  /** For a terminal. */
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

  /** For a page in Markdown. */
  public String markdown() {
    StringBuilder text = new StringBuilder();
    if (!rows.isEmpty()) {
      text.append(row(head));
      text.append("|---|").append("---:|".repeat(head.size() - 1)).append('\n');
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

  /** Text as it may stand in a cell of Markdown. */
  public static String escape(String text) {
    return text.replace("|", "\\|").replace("<", "&lt;");
  }
}
