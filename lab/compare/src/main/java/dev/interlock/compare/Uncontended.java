package dev.interlock.compare;

import dev.interlock.report.Unit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.HdrHistogram.Histogram;

/** Measures an uncontended lock. */
final class Uncontended extends Scenario {
  static final Metric P50 = new Metric("latency-p50", "p50", Unit.SECONDS);
  static final Metric P99 = new Metric("latency-p99", "p99", Unit.SECONDS);
  static final Metric P999 = new Metric("latency-p99.9", "p99.9", Unit.SECONDS);
  static final Metric RATE = new Metric("pairs", "cycles", Unit.PER_SECOND);
  static final Metric BASELINE_P50 =
      new Metric("baseline-latency-p50", "baseline p50", Unit.SECONDS);
  static final Metric RATIO = new Metric("latency-p50-to-baseline", "p50 / baseline", Unit.RATIO);

  /** With fewer cycles, this scenario, which runs first, would measure compilation. */
  private static final int MIN_WARM_UP_CYCLES = 5_000;

  /** With fewer cycles, the percentile would be one of the few slowest. */
  private static final int MIN_CYCLES_FOR_P999 = 5_000;

  private static final double[] QUANTILES = {
    0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999
  };

  Uncontended() {
    super(
        "uncontended",
        "Uncontended",
        """
        One thread acquires and releases one lock in a loop; a cycle is one acquisition and its
        release. The baseline is the minimum that the store's driver has to do, on the same server
        and in the same rounds.
        """,
        List.of(P50, P99, P999, RATE, BASELINE_P50, RATIO),
        List.of(
            new Chart.Bars("Latency of a cycle, median", P50),
            new Chart.Latencies("Latency of a cycle, by percentile")));
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    return profile.roundsOf(2 * backends);
  }

  @Override
  void run(Run run) throws InterruptedException {
    Map<OpenContender, CycleTrial> trials = new ConcurrentHashMap<>();
    run.interleaved(
        run.contenders(),
        MIN_WARM_UP_CYCLES,
        contender -> {
          CycleTrial trial = run.cycles(contender, Locking.locks(contender.open()), 1);
          trials.put(contender, trial);
          return trial;
        },
        contender -> run.cycles(contender, contender.baseline(contender.uri(), 1), 1),
        (contender, series, lock, baseline) -> {
          run.record(contender, P50, null, series.values(lock, Figure.CYCLE_P50));
          run.record(contender, P99, null, series.values(lock, Figure.CYCLE_P99));
          run.record(contender, RATE, null, series.values(lock, Figure.CYCLES));
          run.record(contender, BASELINE_P50, null, series.values(baseline, Figure.CYCLE_P50));
          run.recordRatio(contender, RATIO, null, series.ratios(Figure.CYCLE_P50, lock, baseline));
          CycleTrial trial = trials.get(contender);
          if (trial != null && series.contenders().contains(lock)) {
            distribution(run, contender, trial.all());
          }
        });
  }

  private void distribution(Run run, OpenContender contender, Histogram all) {
    if (all.getTotalCount() >= MIN_CYCLES_FOR_P999) {
      run.record(contender, P999, seconds(all, 0.999));
    }
    List<Results.Distribution.Step> steps = new ArrayList<>();
    for (double quantile : QUANTILES) {
      if ((1 - quantile) * all.getTotalCount() >= 1) {
        steps.add(new Results.Distribution.Step(quantile, seconds(all, quantile)));
      }
    }
    run.results().distributions().add(new Results.Distribution(id(), contender.name(), steps));
  }

  private static double seconds(Histogram times, double quantile) {
    return times.getValueAtPercentile(quantile * 100) / 1e9;
  }
}
