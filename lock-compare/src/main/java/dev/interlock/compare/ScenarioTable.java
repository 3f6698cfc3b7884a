package dev.interlock.compare;

import dev.interlock.report.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A scenario's numbers as a table: a row for each backend, then what was not measured, and why. */
final class ScenarioTable {
  private ScenarioTable() {}

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
}
