package dev.interlock.compare;

import dev.interlock.report.Table;
import java.util.Locale;

/** The report for a terminal. */
final class TextReport {
  private TextReport() {}

  static String of(Comparison.Findings findings) {
    StringBuilder text = new StringBuilder();
    for (Scenario scenario : findings.scenarios()) {
      Table table = ScenarioTable.of(scenario, findings);
      if (!table.rows().isEmpty() || !table.notes().isEmpty()) {
        text.append('\n').append(scenario.title()).append('\n').append(table.text());
      }
    }
    text.append('\n').append(summary(findings)).append('\n');
    return text.toString();
  }

  /** What was done, in a sentence. */
  static String summary(Comparison.Findings findings) {
    Effort effort = findings.effort();
    return String.format(
        Locale.ROOT,
        "Medians of %d interleaved rounds of %d ms each, after one for warming up; %s; it took"
            + " %d s%s.",
        effort.rounds(),
        effort.slice().toMillis(),
        findings.machine().getOrDefault("processors", "?")
            + " × "
            + findings.machine().getOrDefault("processor", "?"),
        findings.took().toSeconds(),
        findings.stopped() ? ", and was stopped early" : "");
  }
}
