package dev.interlock.tck.report;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.util.List;
import java.util.Objects;

/**
 * The report for programs, {@code report.json}. The components' names are the keys.
 *
 * @param backend the backend's name
 * @param endpoint the store's endpoint, without any password
 * @param capabilities the declared capabilities, sorted
 * @param verdict the result of the run as a whole
 * @param summary the verdict with its figures
 * @param started the start of the run, in ISO 8601
 * @param millis the duration of the run
 * @param java the version of the JVM
 * @param rules the requested rules, in the order of the contract
 * @param tests all tests, in the order in which they ended
 */
record JsonReport(
    String backend,
    String endpoint,
    List<String> capabilities,
    Report.Verdict verdict,
    String summary,
    String started,
    long millis,
    String java,
    List<RuleLine> rules,
    List<TestLine> tests) {
  private static final Gson GSON = new GsonBuilder().disableHtmlEscaping().create();

  record RuleLine(String id, String title, RuleResult.Outcome result, String reason) {
    RuleLine(RuleResult rule) {
      this(rule.rule().id(), rule.rule().title(), rule.outcome(), rule.reason());
    }
  }

  record TestLine(
      String test, List<String> rules, TestResult.Status result, String reason, long millis) {
    TestLine(TestResult test) {
      this(
          test.test(),
          test.rules(),
          test.status(),
          Objects.requireNonNullElse(test.reason(), ""),
          test.took().toMillis());
    }
  }

  /** {@return one JSON object, with a line break after it} */
  static String of(Report report) {
    JsonReport json =
        new JsonReport(
            report.backend().name(),
            report.endpoint(),
            report.backend().capabilities().stream().map(Enum::name).sorted().toList(),
            report.verdict(),
            report.summary(),
            report.started().toString(),
            report.took().toMillis(),
            report.java(),
            report.rules().stream().map(RuleLine::new).toList(),
            report.tests().stream().map(TestLine::new).toList());
    return GSON.toJson(json) + "\n";
  }
}
