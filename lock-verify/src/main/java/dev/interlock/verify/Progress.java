package dev.interlock.verify;

import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Shows each suite that ends, which ones run, and how much is left. */
final class Progress {
  private final long start = System.nanoTime();
  private final PrintStream out;
  private final int jobs;
  private final int total;

  private record Running(Suite suite, long since) {}

  private final List<Running> running = new ArrayList<>();
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

  synchronized void started(Suite suite) {
    running.add(new Running(suite, System.nanoTime()));
  }

  synchronized void finished(SuiteResult result) {
    Suite suite = result.suite();
    running.stream()
        .filter(one -> one.suite().equals(suite))
        .findFirst()
        .ifPresent(running::remove);
    results.add(result);
    left = left.minus(suite.expected());
    if (suite.known()) {
      expected = expected.plus(suite.expected());
      took = took.plus(result.took());
    }
    out.printf(
        Locale.ROOT,
        "%6s %4d/%d  %-15s %-28s %7s  %s%s%n",
        Durations.minutes(Duration.ofNanos(System.nanoTime() - start)),
        results.size(),
        total,
        suite.module().name(),
        suite.name(),
        Durations.seconds(result.took()),
        result.summary(),
        status());
    for (TestResult test : result.tests()) {
      if (test.failed()) {
        String reason = test.reason().lines().findFirst().orElse("");
        out.printf(Locale.ROOT, "        FAILED %s: %s%n", test.title(), reason);
      }
    }
    out.flush();
  }

  private String status() {
    if (running.isEmpty()) {
      return "";
    }
    String names =
        running.stream().map(one -> one.suite().name()).collect(Collectors.joining(", "));
    return "  [" + Durations.minutes(estimate()) + " min left; running " + names + "]";
  }

  /** From the expected times, corrected by how much longer finished suites took. */
  private Duration estimate() {
    double pace = expected.isZero() ? 1 : (double) took.toMillis() / expected.toMillis();
    long now = System.nanoTime();
    Duration elapsed = Duration.ZERO;
    Duration longest = Duration.ZERO;
    for (Running one : running) {
      Duration full = scale(one.suite().expected(), pace);
      Duration since = Duration.ofNanos(now - one.since());
      Duration rest = full.compareTo(since) > 0 ? full.minus(since) : Duration.ZERO;
      elapsed = elapsed.plus(full.minus(rest));
      longest = rest.compareTo(longest) > 0 ? rest : longest;
    }
    Duration shared = scale(left, pace).minus(elapsed).dividedBy(jobs);
    return shared.compareTo(longest) > 0 ? shared : longest;
  }

  private static Duration scale(Duration duration, double factor) {
    return Duration.ofMillis((long) (duration.toMillis() * factor));
  }

  synchronized List<SuiteResult> results() {
    return List.copyOf(results);
  }
}
