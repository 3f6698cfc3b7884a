package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.tck.report.RuleResult;
import dev.interlock.tck.report.RuleResult.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The results of one run of the kit on one peer. They are kept in a file, because a run takes
 * minutes and every build checks the page.
 *
 * @param setUp the versions and configuration that were tested
 * @param rules the result of each tested rule
 */
record RunResult(String setUp, Map<String, RuleOutcome> rules) {

  /**
   * The result of one rule.
   *
   * @param outcome its outcome
   * @param reason the reason in one line; empty if the rule passed
   */
  record RuleOutcome(Outcome outcome, String reason) {}

  RuleOutcome forRule(String rule) {
    return rules.getOrDefault(rule, new RuleOutcome(Outcome.NOT_TESTED, "newer than the last run"));
  }

  static RunResult of(String setUp, List<RuleResult> results) {
    Map<String, RuleOutcome> rules = new LinkedHashMap<>();
    for (RuleResult result : results) {
      rules.put(result.rule().id(), new RuleOutcome(result.outcome(), oneLine(result.reason())));
    }
    return new RunResult(setUp, rules);
  }

  private static String oneLine(String text) {
    return text.replaceAll("\\s+", " ").strip();
  }

  void write(Path file) throws IOException {
    List<String> lines = new ArrayList<>(List.of(setUp));
    rules.forEach(
        (rule, result) ->
            lines.add((rule + "\t" + result.outcome() + "\t" + result.reason()).strip()));
    Files.createDirectories(file.getParent());
    Files.write(file, lines, UTF_8);
  }

  static RunResult read(Path file) throws IOException {
    List<String> lines = Files.readAllLines(file, UTF_8);
    Map<String, RuleOutcome> rules = new LinkedHashMap<>();
    for (String line : lines.subList(1, lines.size())) {
      String[] parts = line.split("\t", 3);
      rules.put(
          parts[0], new RuleOutcome(Outcome.valueOf(parts[1]), parts.length > 2 ? parts[2] : ""));
    }
    return new RunResult(lines.get(0), rules);
  }
}
