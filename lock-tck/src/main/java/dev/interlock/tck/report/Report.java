package dev.interlock.tck.report;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.BackendInfo;
import dev.interlock.tck.report.RuleResult.Outcome;
import dev.interlock.tck.run.Contract;
import dev.interlock.tck.run.ContractRule;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The results of a run against a backend.
 *
 * @param backend what the backend declares
 * @param endpoint the store's endpoint, without any password
 * @param started when the run began
 * @param took how long it took
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
    /** Every rule passed, or does not apply. */
    PASSED,
    /** Nothing failed, but something was not tested. */
    PARTIAL,
    /** Something failed. */
    FAILED,
    /** Nothing was tested. */
    NOTHING_TESTED
  }

  /**
   * Sorts the results of tests by rule.
   *
   * @param contract the contract
   * @param asked the identifiers of the requested rules
   * @param tests the results
   * @return one result for each requested rule
   */
  public static List<RuleResult> byRule(
      Contract contract, List<String> asked, List<TestResult> tests) {
    List<RuleResult> results = new ArrayList<>();
    for (ContractRule rule : contract.rules()) {
      if (asked.contains(rule.id())) {
        results.add(
            new RuleResult(
                rule, tests.stream().filter(test -> test.rules().contains(rule.id())).toList()));
      }
    }
    return results;
  }

  /**
   * Counts the rules by outcome.
   *
   * @return a number for every outcome
   */
  public Map<Outcome, Integer> counts() {
    Map<Outcome, Integer> counts = new EnumMap<>(Outcome.class);
    for (Outcome outcome : Outcome.values()) {
      counts.put(outcome, 0);
    }
    rules.forEach(rule -> counts.merge(rule.outcome(), 1, Integer::sum));
    return counts;
  }

  /** {@return the result of the run as a whole} */
  public Verdict verdict() {
    Map<Outcome, Integer> counts = counts();
    if (counts.getOrDefault(Outcome.FAILED, 0) > 0) {
      return Verdict.FAILED;
    }
    int partly = counts.getOrDefault(Outcome.PARTLY_TESTED, 0);
    if (counts.getOrDefault(Outcome.PASSED, 0) + partly == 0) {
      return Verdict.NOTHING_TESTED;
    }
    int untested =
        counts.getOrDefault(Outcome.NOT_TESTED, 0) + counts.getOrDefault(Outcome.NOT_OFFERED, 0);
    return partly + untested > 0 ? Verdict.PARTIAL : Verdict.PASSED;
  }

  /** {@return the verdict with its figures} */
  public String summary() {
    Map<Outcome, Integer> counts = counts();
    StringBuilder line =
        new StringBuilder(
            switch (verdict()) {
              case PASSED -> "PASSED";
              case PARTIAL -> "PARTIAL: nothing failed, but not everything was tested";
              case FAILED -> "FAILED";
              case NOTHING_TESTED -> "NOTHING TESTED";
            });
    line.append(" (").append(rules.size()).append(rules.size() == 1 ? " rule: " : " rules: ");
    List<String> parts = new ArrayList<>();
    counts.forEach(
        (outcome, count) -> {
          if (count > 0) {
            parts.add(count + " " + outcome.words());
          }
        });
    return line.append(String.join(", ", parts)).append(")").toString();
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

  /** {@return name and version of the JVM that runs the tests} */
  public static String thisJava() {
    return System.getProperty("java.vm.name") + " " + System.getProperty("java.version");
  }
}
