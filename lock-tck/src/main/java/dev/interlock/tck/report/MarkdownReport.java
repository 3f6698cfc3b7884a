package dev.interlock.tck.report;

import dev.interlock.FailureModel.Guarantee;
import dev.interlock.tck.report.RuleResult.Outcome;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Collectors;

/** The report for people, {@code report.md}. */
final class MarkdownReport {
  private MarkdownReport() {}

  static String of(Report report) {
    StringBuilder text = new StringBuilder();
    text.append("# Lock contract: ").append(report.backend().name()).append("\n\n");
    text.append("**").append(report.summary()).append("**\n\n");
    text.append("| | |\n|---|---|\n");
    row(text, "backend", report.backend().name() + ", " + report.backend().summary());
    row(text, "endpoint", report.endpoint());
    row(
        text,
        "capabilities",
        report.backend().capabilities().stream()
            .map(Enum::name)
            .sorted()
            .collect(Collectors.joining(", ")));
    row(text, "granularity", report.backend().granularity().toMillis() + " ms");
    row(text, "started", report.started().truncatedTo(ChronoUnit.SECONDS).toString());
    row(text, "took", report.took().toSeconds() + " s for " + report.tests().size() + " tests");
    row(text, "Java", report.java());

    text.append("\n## Rules\n\n| rule | result | reason |\n|---|---|---|\n");
    for (RuleResult rule : report.rules()) {
      String result = rule.outcome().words();
      row(
          text,
          rule.rule().id() + " " + rule.rule().title(),
          rule.outcome() == Outcome.FAILED ? "**" + result + "**" : result,
          rule.reason());
    }
    text.append("\n## Failure model, as declared\n\n| fault | survives |\n|---|---|\n");
    report
        .backend()
        .failureModel()
        .table()
        .forEach((fault, survives) -> row(text, words(fault), words(survives)));

    List<RuleResult> failed =
        report.rules().stream().filter(rule -> rule.outcome() == Outcome.FAILED).toList();
    if (!failed.isEmpty()) {
      text.append("\n## Failures\n");
      failed.forEach(rule -> failure(text, rule));
    }
    return text.toString();
  }

  private static void failure(StringBuilder text, RuleResult rule) {
    text.append("\n### ").append(rule.rule().id()).append(' ').append(rule.rule().title());
    text.append("\n\n").append(rule.rule().statement()).append("\n\n");
    text.append("Why: ").append(rule.rule().why()).append("\n\n");
    text.append("Check: ").append(rule.rule().check()).append('\n');
    for (TestResult test : rule.tests()) {
      if (test.status() == TestResult.Status.FAILED) {
        text.append("\n`").append(test.test()).append("`\n\n```\n");
        text.append(Objects.requireNonNullElse(test.trace(), "")).append("\n```\n");
      }
    }
  }

  private static String words(Enum<?> constant) {
    return constant == Guarantee.NOT_APPLICABLE
        ? "cannot happen"
        : constant.name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }

  private static void row(StringBuilder text, String... cells) {
    text.append('|');
    for (String cell : cells) {
      text.append(' ').append(cell.replace("|", "\\|").replace('\n', ' ')).append(" |");
    }
    text.append('\n');
  }
}
