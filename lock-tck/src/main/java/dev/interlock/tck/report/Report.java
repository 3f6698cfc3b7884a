package dev.interlock.tck.report;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;

import dev.interlock.BackendInfo;
import dev.interlock.tck.report.RuleResult.Outcome;
import dev.interlock.tck.run.Contract;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * The results of a run against a backend.
 *
 * @param backend the backend's declarations
 * @param endpoint the store's endpoint, without any password
 * @param started the start of the run
 * @param took the duration of the run
 * @param java the version of the JVM
 * @param rules the requested rules, in the order of the contract
 * @param tests all tests, in the order in which they ended
 */
public record Report(
    BackendInfo backend,
    String endpoint,
    Instant started,
    Duration took,
    String java,
    List<RuleResult> rules,
    List<TestResult> tests) {

  /** The name of the Markdown file. */
  public static final String MARKDOWN = "report.md";

  /** The result of a run as a whole. */
  public enum Verdict {
    /** Every rule passed or does not apply. */
    PASSED,
    /** No rule failed, but some were not tested, or only in part. */
    PARTIAL,
    /** At least one rule failed. */
    FAILED,
    /** No rule was tested. */
    NOTHING_TESTED
  }

  /**
   * Groups the results of tests by rule.
   *
   * @param contract the contract
   * @param asked the identifiers of the requested rules
   * @param tests the results
   * @return one result for each requested rule
   */
  public static List<RuleResult> byRule(
      Contract contract, List<String> asked, List<TestResult> tests) {
    return contract.rules().stream()
        .filter(rule -> asked.contains(rule.id()))
        .map(
            rule ->
                new RuleResult(
                    rule, tests.stream().filter(test -> test.rules().contains(rule.id())).toList()))
        .toList();
  }

  /**
   * Creates the report of a run that has just ended on this JVM.
   *
   * @param backend the backend's declarations
   * @param endpoint the store's endpoint, without any password
   * @param started the start of the run
   * @param rules the requested rules
   * @param tests all tests
   * @return the report
   */
  public static Report of(
      BackendInfo backend,
      String endpoint,
      Instant started,
      List<RuleResult> rules,
      List<TestResult> tests) {
    String java = System.getProperty("java.vm.name") + " " + System.getProperty("java.version");
    Duration took = Duration.between(started, Instant.now());
    return new Report(backend, endpoint, started, took, java, rules, tests);
  }

  private boolean any(Outcome... outcomes) {
    return rules.stream().anyMatch(rule -> List.of(outcomes).contains(rule.outcome()));
  }

  /** {@return the result of the run as a whole} */
  public Verdict verdict() {
    if (any(Outcome.FAILED)) {
      return Verdict.FAILED;
    }
    if (!any(Outcome.PASSED, Outcome.PARTLY_TESTED, Outcome.NO_VERDICT)) {
      return Verdict.NOTHING_TESTED;
    }
    return any(Outcome.NO_VERDICT, Outcome.PARTLY_TESTED, Outcome.NOT_TESTED, Outcome.NOT_OFFERED)
        ? Verdict.PARTIAL
        : Verdict.PASSED;
  }

  /** {@return the verdict with its figures} */
  public String summary() {
    String verdict =
        switch (verdict()) {
          case PASSED -> "PASSED";
          case PARTIAL ->
              "PARTIAL: "
                  + (onlyHarnessIsMissing()
                      ? "all that can be tested from an address has passed"
                      : "nothing failed, but not everything was tested");
          case FAILED -> "FAILED";
          case NOTHING_TESTED -> "NOTHING TESTED";
        };
    Map<Outcome, Long> counts =
        rules.stream().collect(groupingBy(RuleResult::outcome, TreeMap::new, counting()));
    String parts =
        counts.entrySet().stream()
            .map(count -> count.getValue() + " " + count.getKey().words())
            .collect(joining(", "));
    return verdict
        + " ("
        + rules.size()
        + (rules.size() == 1 ? " rule: " : " rules: ")
        + parts
        + ")";
  }

  /** {@return whether every rule would be tested if there were a harness that starts servers} */
  private boolean onlyHarnessIsMissing() {
    return rules.stream().allMatch(RuleResult::lacksOnlyTheHarness);
  }

  /** {@return what would make a partial verdict whole, in one line; empty for other verdicts} */
  public String advice() {
    if (verdict() != Verdict.PARTIAL) {
      return "";
    }
    String again =
        rules.stream()
            .filter(rule -> rule.outcome() == Outcome.NO_VERDICT)
            .map(rule -> rule.rule().id())
            .collect(joining(","));
    if (!again.isEmpty()) {
      return "This machine was too slow for some rules. Run them again, best while it is idle: "
          + again;
    }
    return onlyHarnessIsMissing()
        ? "The rest needs a Harness that starts servers and shows their contents:"
            + " docs/writing-a-backend.md, section 8."
        : "The table gives the reasons.";
  }

  /** {@return the rules as lines for a terminal: rule, result, reason} */
  public String table() {
    StringBuilder text = new StringBuilder();
    for (RuleResult rule : rules) {
      String id = rule.rule().id();
      String result = rule.outcome().words();
      text.append(String.format(Locale.ROOT, "%-9s %-14s %s%n", id, result, rule.rule().title()));
      if (!rule.reason().isEmpty()) {
        text.append(String.format(Locale.ROOT, "%-24s %s%n", "", rule.reason()));
      }
    }
    return text.toString();
  }

  /**
   * Writes {@code report.md} and {@code report.json}.
   *
   * @param folder the folder, created if it does not exist
   * @throws IOException if they cannot be written
   */
  public void writeTo(Path folder) throws IOException {
    Files.createDirectories(folder);
    Files.writeString(folder.resolve(MARKDOWN), MarkdownReport.of(this), UTF_8);
    Files.writeString(folder.resolve("report.json"), JsonReport.of(this), UTF_8);
  }
}
