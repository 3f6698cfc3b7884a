package dev.interlock.verify;

import static java.util.Comparator.comparing;

import dev.interlock.verify.TestResult.Status;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Stream;

/** The end of a run: the suites and their times, what was skipped, and, last, what failed. */
final class Summary {
  /** Enough of a stack trace to show the way from the test to the failure. */
  private static final int MAX_FRAMES = 8;

  private final PrintStream out;
  private final Log log;

  Summary(PrintStream out, Log log) {
    this.out = out;
    this.log = log;
  }

  /** Prints it, and returns whether everything passed. */
  boolean print(List<SuiteResult> results, Duration took) {
    table(results, took);
    skipped(results);
    failures(results);
    long failed = count(results, Status.FAILED);
    out.printf(Locale.ROOT, "%nAll output is in %s%n", log);
    out.printf(
        Locale.ROOT,
        "%d passed, %d failed, %d skipped%n",
        count(results, Status.PASSED),
        failed,
        count(results, Status.SKIPPED));
    return failed == 0 && !results.isEmpty();
  }

  private static long count(List<SuiteResult> results, Status status) {
    return results.stream().mapToLong(result -> result.count(status)).sum();
  }

  private void table(List<SuiteResult> results, Duration took) {
    Map<String, List<SuiteResult>> byModule = new TreeMap<>();
    for (SuiteResult result : results) {
      byModule.computeIfAbsent(result.suite().module().name(), m -> new ArrayList<>()).add(result);
    }
    out.printf(Locale.ROOT, "%n%-44s %9s %9s  %s%n", "suite", "time", "CPU", "tests");
    byModule.forEach(
        (module, suites) -> {
          total(module, suites);
          suites.sort(comparing(SuiteResult::took).reversed());
          for (SuiteResult suite : suites) {
            line("  " + suite.suite().name(), suite.took(), suite.cpuTime(), suite.summary());
          }
        });
    total("sum of all", results);
    out.printf(Locale.ROOT, "%-44s %9s%n", "elapsed", Durations.seconds(took));
  }

  private void total(String what, List<SuiteResult> results) {
    line(what, sum(results, SuiteResult::took), sum(results, SuiteResult::cpuTime), "");
  }

  private void line(String what, Duration took, Duration cpuTime, String tests) {
    String row =
        String.format(
            Locale.ROOT,
            "%-44s %9s %9s  %s",
            what,
            Durations.seconds(took),
            Durations.seconds(cpuTime),
            tests);
    out.println(row.stripTrailing());
  }

  private static Duration sum(List<SuiteResult> results, Function<SuiteResult, Duration> part) {
    return results.stream().map(part).reduce(Duration.ZERO, Duration::plus);
  }

  private void skipped(List<SuiteResult> results) {
    List<SuiteResult> some =
        results.stream().filter(result -> result.count(Status.SKIPPED) > 0).toList();
    if (!some.isEmpty()) {
      out.printf(Locale.ROOT, "%nSkipped:%n");
    }
    for (SuiteResult result : some) {
      Map<String, Long> reasons = new TreeMap<>();
      tests(result, Status.SKIPPED).forEach(test -> reasons.merge(test.reason(), 1L, Long::sum));
      reasons.forEach(
          (reason, times) ->
              out.printf(Locale.ROOT, "  %s: %s (%d)%n", result.suite(), reason, times));
    }
  }

  private static Stream<TestResult> tests(SuiteResult result, Status status) {
    return result.tests().stream().filter(test -> test.status() == status);
  }

  private void failures(List<SuiteResult> results) {
    int number = 0;
    for (SuiteResult result : results) {
      for (TestResult test : tests(result, Status.FAILED).toList()) {
        number++;
        out.printf(Locale.ROOT, "%n%d) %s: %s%n", number, result.suite(), test.title());
        out.println("   " + test.reason().replace("\n", "\n   "));
        test.trace()
            .lines()
            .filter(line -> line.startsWith("\tat dev.interlock") || line.startsWith("Caused by"))
            .limit(MAX_FRAMES)
            .forEach(line -> out.println("     " + line.strip()));
        out.println("   rerun: ./verify --only " + command(result.suite(), test));
      }
    }
  }

  private static String command(Suite suite, TestResult test) {
    return "'" + suite.className() + (test.method().isEmpty() ? "" : "#" + test.method()) + "'";
  }
}
