package dev.interlock.compare;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** One thread that takes and releases one lock as fast as it can. */
final class PairTrial implements Trial {
  private static final long LONGEST_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final int DIGITS = 3;

  private final Subject subject;
  private final Pairs pairs;
  private final Report report;
  private final String name;
  private final Histogram all = new Histogram(LONGEST_NANOS, DIGITS);
  private final List<Round> rounds = new ArrayList<>();

  /** What came out of one round. */
  record Round(Histogram latencies, double pairsPerSecond) {
    double quantile(double quantile) {
      return seconds(latencies, quantile);
    }
  }

  /** What becomes of the numbers. */
  @FunctionalInterface
  interface Report {
    void of(List<Round> rounds, Histogram all, Results results);
  }

  PairTrial(Subject subject, Pairs pairs, Report report) {
    this.subject = subject;
    this.pairs = pairs;
    this.report = report;
    this.name = subject.newName();
  }

  @Override
  public Subject subject() {
    return subject;
  }

  @Override
  public void round(Duration slice, boolean warmUp) throws Exception {
    Histogram latencies = new Histogram(LONGEST_NANOS, DIGITS);
    long start = System.nanoTime();
    long end = start + slice.toNanos();
    long before = start;
    long count = 0;
    do {
      pairs.pair(name);
      long now = System.nanoTime();
      latencies.recordValue(Math.min(LONGEST_NANOS, now - before));
      before = now;
      count++;
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
    } while (before - end < 0);
    if (!warmUp) {
      all.add(latencies);
      rounds.add(new Round(latencies, count * 1e9 / (before - start)));
    }
  }

  @Override
  public void report(Results results) {
    if (!rounds.isEmpty()) {
      report.of(rounds, all, results);
    }
  }

  static double seconds(Histogram latencies, double quantile) {
    return latencies.getValueAtPercentile(quantile * 100) / 1e9;
  }

  @Override
  public void close() {
    pairs.close();
  }
}
