package dev.interlock.tck.report;

import java.util.Locale;

/** A report for a terminal: rule, result, reason. */
public final class TextTable {
  private TextTable() {}

  /**
   * Writes the table.
   *
   * @param report what was found
   * @return lines of text
   */
  public static String of(Report report) {
    StringBuilder text = new StringBuilder();
    for (RuleResult rule : report.rules()) {
      text.append(
          String.format(
              Locale.ROOT,
              "%-9s %-14s %s%n",
              rule.rule().id(),
              rule.outcome().words(),
              rule.rule().title()));
      if (!rule.reason().isEmpty()) {
        text.append(String.format(Locale.ROOT, "%-24s %s%n", "", rule.reason()));
      }
    }
    return text.toString();
  }
}
