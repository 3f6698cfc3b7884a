package dev.interlock.tck.specimen;

import dev.interlock.tck.report.RuleResult;
import dev.interlock.tck.report.TestResult;
import dev.interlock.tck.report.TestResult.Status;
import dev.interlock.tck.run.ContractRun;
import dev.interlock.tck.specimen.Specimen.Refusal;
import java.io.PrintWriter;
import java.io.Writer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The kit's results for one specimen. */
final class SpecimenRun {
  /** The maximum number of runs of a rule that does not refuse in the expected words. */
  private static final int MAX_RUNS = 3;

  private final Specimen specimen;
  private Duration took = Duration.ZERO;
  private int runs;
  private final Map<String, List<TestResult>> failed = new TreeMap<>();
  private final Map<String, RuleResult> results = new TreeMap<>();

  private SpecimenRun(Specimen specimen) {
    this.specimen = specimen;
  }

  private void run(List<String> rules) {
    runs++;
    long start = System.nanoTime();
    ContractRun run =
        ContractRun.of(
            specimen.harness(),
            rules,
            specimen.except(),
            new PrintWriter(Writer.nullWriter(), false));
    took = took.plusNanos(System.nanoTime() - start);
    for (RuleResult rule : run.rules()) {
      String id = rule.rule().id();
      results.put(id, rule);
      List<TestResult> failures =
          rule.tests().stream().filter(test -> test.status() == Status.FAILED).toList();
      if (!failures.isEmpty() && !isRefusedAsDescribed(id)) {
        failed.put(id, failures);
      }
    }
  }

  /** The system property that also runs the rules that should not fail. */
  static final String WHOLE = "interlock.specimens.whole";

  /**
   * Runs the kit on a specimen: the rules that must refuse it or, with the system property {@code
   * interlock.specimens.whole}, all rules that the specimen does not leave out.
   *
   * <p>Some locks fail only when two events coincide, which may not happen on a busy machine, and a
   * stall can make a rule fail for another reason. Therefore a rule that has not refused the
   * specimen in the expected words runs again, up to twice. A rule that cannot detect the fault
   * never fails with those words.
   */
  static SpecimenRun of(Specimen specimen) {
    SpecimenRun result = new SpecimenRun(specimen);
    List<String> rules =
        System.getProperty(WHOLE) == null ? specimen.refusedBy() : specimen.rules();
    while (!rules.isEmpty() && result.runs < MAX_RUNS) {
      result.run(rules);
      rules = result.missed();
    }
    return result;
  }

  /** {@return the rules that have not yet refused it in the expected words} */
  private List<String> missed() {
    return specimen.refusals().entrySet().stream()
        .filter(each -> Runtime.version().feature() >= each.getValue().sinceJava())
        .map(Map.Entry::getKey)
        .filter(rule -> !isRefusedAsDescribed(rule))
        .toList();
  }

  private boolean isRefusedAsDescribed(String rule) {
    Refusal refusal = specimen.refusals().get(rule);
    return refusal != null
        && failed.getOrDefault(rule, List.of()).stream()
            .anyMatch(test -> contains(test, refusal.message()));
  }

  /**
   * {@return one line for each rule that refused it unexpectedly, did not refuse it, or refused it
   * in other words}
   */
  private List<String> differences() {
    List<String> differences = new ArrayList<>();
    failed.forEach(
        (rule, failures) -> {
          Refusal refusal = specimen.refusals().get(rule);
          if (refusal == null) {
            differences.add(rule + " must not fail, but it fails: " + reasons(failures));
          } else if (!isRefusedAsDescribed(rule)) {
            differences.add(
                rule + " fails, but not with \"" + refusal.message() + "\": " + reasons(failures));
          }
        });
    missed().stream()
        .filter(rule -> !failed.containsKey(rule))
        .forEach(
            rule -> differences.add(rule + " must fail, but its outcome is: " + outcome(rule)));
    return differences;
  }

  private String outcome(String rule) {
    RuleResult result = results.get(rule);
    if (result == null) {
      return "not among the rules that are run";
    }
    String reason = result.reason();
    return result.outcome().words() + (reason.isEmpty() ? "" : ": " + reason);
  }

  private static boolean contains(TestResult test, String words) {
    return test.reason() != null && test.reason().contains(words);
  }

  private static String reasons(List<TestResult> failures) {
    List<String> reasons = new ArrayList<>();
    for (TestResult test : failures) {
      reasons.add("[" + test.test() + "] " + test.reason());
    }
    return String.join("; ", reasons);
  }

  /** Fails with all differences between the kit's results and the specimen's description. */
  void assertAsDescribed() {
    List<String> differences = differences();
    if (!differences.isEmpty()) {
      throw new AssertionError(
          "\""
              + specimen.name()
              + "\" is not refused as described:\n  "
              + String.join("\n  ", differences));
    }
  }

  @Override
  public String toString() {
    return String.format(
        "%-45s refused by %s (%d s%s)",
        specimen.name(),
        failed.keySet(),
        took.toSeconds(),
        runs == 1 ? "" : ", in " + runs + " runs");
  }
}
