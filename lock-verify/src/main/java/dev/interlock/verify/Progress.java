package dev.interlock.verify;

import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Shows each suite that ends, which ones run, and how much is left. */
final class Progress {
  private final long start = System.nanoTime();
  private final PrintStream out;
  private final int jobs;
  private final int total;
  private final Map<Suite, Long> running = new LinkedHashMap<>();
  private final List<SuiteResult> results = new ArrayList<>();
  private Duration left;
  private Duration expected = Duration.ZERO;
  private Duration took = Duration.ZERO;

  Progress(PrintStream out, int jobs, List<Suite> suites) {
    this.out = out;
    this.jobs = jobs;
    this.total = suites.size();
    this.left = Batches.expected(suites);
  }

  synchronized void begins(Suite suite) {
    running.put(suite, System.nanoTime());
  }

  synchronized void ended(SuiteResult result) {
    Suite suite = result.suite();
    running.remove(suite);
    results.add(result);
    left = left.minus(suite.expected());
    if (suite.known()) {
      expected = expected.plus(suite.expected());
      took = took.plus(result.took());
    }
    out.printf(
        Locale.ROOT,
        "%6s %4d/%d  %-15s %-28s %7s  %s%s%n",
        Text.minutes(Duration.ofNanos(System.nanoTime() - start)),
        results.size(),
        total,
        suite.module().name(),
        suite.name(),
        Text.seconds(result.took()),
        result.summary(),
        outlook());
    out.flush();
  }

  private String outlook() {
    if (running.isEmpty()) {
      return "";
    }
    List<String> names = running.keySet().stream().map(Suite::name).toList();
    return "  ["
        + Text.minutes(estimate())
        + " min left; running "
        + String.join(", ", names)
        + "]";
  }

  /** From what was expected, and how much longer the others have taken than expected. */
  private Duration estimate() {
    double pace = expected.isZero() ? 1 : (double) took.toMillis() / expected.toMillis();
    long now = System.nanoTime();
    Duration under = Duration.ZERO;
    Duration longest = Duration.ZERO;
    for (Map.Entry<Suite, Long> one : running.entrySet()) {
      Duration full = scale(one.getKey().expected(), pace);
      Duration since = Duration.ofNanos(now - one.getValue());
      Duration rest = full.compareTo(since) > 0 ? full.minus(since) : Duration.ZERO;
      under = under.plus(full.minus(rest));
      longest = rest.compareTo(longest) > 0 ? rest : longest;
    }
    Duration shared = scale(left, pace).minus(under).dividedBy(jobs);
    return shared.compareTo(longest) > 0 ? shared : longest;
  }

  private static Duration scale(Duration duration, double factor) {
    return Duration.ofMillis((long) (duration.toMillis() * factor));
  }

  synchronized List<SuiteResult> results() {
    return List.copyOf(results);
  }
}
