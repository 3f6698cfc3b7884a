package dev.interlock.storm;

import dev.interlock.report.Table;

/** The report in Markdown: {@code results.md}. */
final class MarkdownReport {
  private MarkdownReport() {}

  static String of(StormReport findings) {
    StringBuilder text = new StringBuilder("# Lock backends in a storm\n\n");
    text.append(Table.escape(Summary.sentence(findings))).append("\n\n");
    text.append(Summary.verdicts(findings).markdown()).append('\n');
    text.append(Summary.writes(findings).markdown());
    for (StormResult storm : findings.results()) {
      text.append("\n## ").append(storm.name()).append("\n\n");
      text.append(Table.escape(storm.where()));
      text.append("\n\n");
      for (Finding finding : storm.findings()) {
        text.append("- **").append(finding.rule()).append("**: ");
        text.append(Table.escape(finding.what().strip().replace("\n", "\n  "))).append('\n');
      }
      if (storm.counterExample() != null) {
        text.append("\n```\n").append(storm.counterExample().strip()).append("\n```\n\n");
      }
      text.append(Summary.faults(storm).markdown());
      if (!storm.slowest().isEmpty()) {
        text.append('\n').append(Summary.recoveries(storm).markdown());
      }
    }
    return text.toString();
  }
}
