package dev.interlock.compare;

import dev.interlock.report.Unit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.HdrHistogram.Histogram;

/** What a lock costs that nobody else wants. */
final class Uncontended implements Scenario {
  static final String ID = "uncontended";
  static final Metric P50 = new Metric("latency-p50", "p50", Unit.SECONDS);
  static final Metric P99 = new Metric("latency-p99", "p99", Unit.SECONDS);
  static final Metric P999 = new Metric("latency-p99.9", "p99.9", Unit.SECONDS);
  static final Metric RATE = new Metric("pairs", "pairs", Unit.PER_SECOND);
  static final Metric FLOOR_P50 = new Metric("floor-latency-p50", "floor p50", Unit.SECONDS);
  static final Metric RATIO = new Metric("latency-p50-to-floor", "p50 / floor", Unit.RATIO);

  private static final double[] QUANTILES = {
    0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999
  };

  @Override
  public String id() {
    return ID;
  }

  @Override
  public String title() {
    return "Nobody else wants it";
  }

  @Override
  public String explanation() {
    return "One thread takes and releases one lock, again and again; a pair is both. The floor is"
        + " the least that the bare driver has to do, on the same server and in the same rounds.";
  }

  @Override
  public List<Column> columns(Effort effort) {
    return List.of(
        new Column(P50),
        new Column(P99),
        new Column(P999),
        new Column(RATE),
        new Column(FLOOR_P50),
        new Column(RATIO));
  }

  @Override
  public List<Chart> charts() {
    return List.of(
        new Chart.Bars("Latency of a pair, median", P50, Point.ONLY),
        new Chart.Latencies("Latency of a pair, by percentile"));
  }

  @Override
  public Duration estimate(Effort effort, int backends) {
    return effort.roundsOf(2 * backends);
  }

  @Override
  public void run(Run run) throws InterruptedException {
    run.interleaved(
        subject -> {
          List<Trial> trials = new ArrayList<>();
          trials.add(
              new PairTrial(
                  subject,
                  Pairs.byLock(subject.open()),
                  (rounds, all, results) -> report(run, subject, rounds, all)));
          Pairs floor = Pairs.byDriver(subject, subject.uri(), 1);
          if (floor != null) {
            trials.add(
                new PairTrial(
                    subject,
                    floor,
                    (rounds, all, results) ->
                        run.measured(subject, FLOOR_P50, each(rounds, r -> r.quantile(0.5)))));
          }
          return trials;
        });
    run.ratio(RATIO, P50, FLOOR_P50);
  }

  private static void report(
      Run run, Subject subject, List<PairTrial.Round> rounds, Histogram all) {
    run.measured(subject, P50, each(rounds, round -> round.quantile(0.5)));
    run.measured(subject, P99, each(rounds, round -> round.quantile(0.99)));
    if (all.getTotalCount() >= 5_000) { // else one or two of the slowest would be the answer
      run.measured(subject, P999, List.of(PairTrial.seconds(all, 0.999)));
    }
    run.measured(subject, RATE, each(rounds, PairTrial.Round::pairsPerSecond));
    List<Results.Distribution.Step> steps = new ArrayList<>();
    for (double quantile : QUANTILES) {
      if ((1 - quantile) * all.getTotalCount() >= 1) {
        steps.add(new Results.Distribution.Step(quantile, PairTrial.seconds(all, quantile)));
      }
    }
    run.results().add(new Results.Distribution(ID, subject.name(), steps));
  }

  static List<Double> each(List<PairTrial.Round> rounds, ToDoubleFunction<PairTrial.Round> number) {
    return rounds.stream().map(number::applyAsDouble).toList();
  }
}
