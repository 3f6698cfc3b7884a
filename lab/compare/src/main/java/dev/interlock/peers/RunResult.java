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
 * What the kit found in one run of one peer. It is kept in a file, since a run takes minutes and
 * the page is checked in every build.
 *
 * @param setUp what was tested
 * @param rules the finding of each rule that was tested
 */
record RunResult(String setUp, Map<String, Finding> rules) {

  /**
   * What the kit found about one rule.
   *
   * @param outcome its outcome
   * @param reason why it was not simply passed, in one line
   */
  record Finding(Outcome outcome, String reason) {}

  /** {@return what was found about a rule} */
  Finding finding(String rule) {
    return rules.getOrDefault(rule, new Finding(Outcome.NOT_TESTED, "newer than the last run"));
  }

  static RunResult of(String setUp, List<RuleResult> results) {
    Map<String, Finding> rules = new LinkedHashMap<>();
    for (RuleResult result : results) {
      rules.put(result.rule().id(), new Finding(result.outcome(), oneLine(result.reason())));
    }
    return new RunResult(setUp, rules);
  }

  private static String oneLine(String text) {
    return text.replaceAll("\\s+", " ").strip();
  }

  void write(Path file) throws IOException {
    List<String> lines = new ArrayList<>(List.of(setUp));
    rules.forEach(
        (rule, finding) ->
            lines.add((rule + "\t" + finding.outcome() + "\t" + finding.reason()).strip()));
    Files.createDirectories(file.getParent());
    Files.write(file, lines, UTF_8);
  }

  static RunResult read(Path file) throws IOException {
    List<String> lines = Files.readAllLines(file, UTF_8);
    Map<String, Finding> rules = new LinkedHashMap<>();
    for (String line : lines.subList(1, lines.size())) {
      String[] parts = line.split("\t", 3);
      rules.put(parts[0], new Finding(Outcome.valueOf(parts[1]), parts.length > 2 ? parts[2] : ""));
    }
    return new RunResult(lines.get(0), rules);
  }
}
