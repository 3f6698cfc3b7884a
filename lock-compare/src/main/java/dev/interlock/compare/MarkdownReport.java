package dev.interlock.compare;

import dev.interlock.report.Table;

/** The report to be pasted: {@code results.md}. */
final class MarkdownReport {
  private MarkdownReport() {}

  static String of(Comparison.Findings findings) {
    StringBuilder text = new StringBuilder("# Lock backends compared\n\n");
    text.append(TextReport.summary(findings)).append("\n\n");
    for (Comparison.Participant backend : findings.backends()) {
      text.append("- **").append(backend.name()).append("**");
      if (!backend.servers().isEmpty()) {
        text.append(": ").append(Table.escape(backend.servers()));
      }
      text.append("; durability: ").append(Table.escape(backend.durability())).append('\n');
    }
    for (Results.Gap gap : findings.results().gaps()) {
      if (gap.scenario().isEmpty()) {
        text.append("- **")
            .append(gap.backend())
            .append("** was left out: ")
            .append(Table.escape(gap.text()))
            .append('\n');
      }
    }
    for (Scenario scenario : findings.scenarios()) {
      Table table = ScenarioTable.of(scenario, findings);
      if (!table.rows().isEmpty() || !table.notes().isEmpty()) {
        text.append("\n## ").append(scenario.title()).append("\n\n");
        text.append(scenario.explanation()).append("\n\n");
        text.append(table.markdown());
      }
    }
    if (!findings.kitVerdicts().isEmpty()) {
      text.append("\n## Compatibility kit\n\n");
      for (KitVerdict one : findings.kitVerdicts()) {
        text.append("- ").append(one.backend()).append(": ").append(one.summary()).append('\n');
      }
    }
    return text.toString();
  }
}
