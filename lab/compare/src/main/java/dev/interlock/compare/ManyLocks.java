package dev.interlock.compare;

import dev.interlock.compare.baseline.Cycler;
import dev.interlock.report.Unit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Measures the throughput of threads that use different locks. */
final class ManyLocks extends Scenario {
  static final String THREADS = "threads";
  static final Metric RATE = new Metric("pairs", "cycles", Unit.PER_SECOND);
  static final Metric BASELINE = new Metric("baseline-pairs", "baseline cycles", Unit.PER_SECOND);
  static final Metric RATIO = new Metric("pairs-to-baseline", "cycles / baseline", Unit.RATIO);

  ManyLocks() {
    super(
        "many-locks",
        "Many locks at once",
        """
        Threads of one process acquire and release locks, each its own, through one client. The
        baseline is the bare driver with as many threads.
        """,
        List.of(),
        List.of(
            new Chart.Lines("Cycles per second, all threads together", RATE, THREADS, THREADS),
            new Chart.Lines(
                "Cycles per second, divided by the baseline", RATIO, THREADS, THREADS)));
  }

  @Override
  List<Column> columns(Profile profile) {
    List<Column> columns = new ArrayList<>();
    for (int threads : profile.threads()) {
      Point point = new Point(THREADS, threads);
      columns.add(new Column(threads == 1 ? "1 thread" : point.label(), RATE, point));
    }
    for (int threads : profile.threads()) {
      Point point = new Point(THREADS, threads);
      columns.add(new Column("/ baseline, " + point.number(), RATIO, point));
    }
    return columns;
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    return profile.roundsOf(2 * backends * profile.threads().size());
  }

  @Override
  void run(Run run) throws InterruptedException {
    for (int threads : run.profile().threads()) {
      Point at = new Point(THREADS, threads);
      run.interleaved(
          run.contenders(),
          0,
          contender -> trial(run, contender, Locking.locks(contender.open()), threads),
          contender -> trial(run, contender, contender.baseline(contender.uri(), threads), threads),
          (contender, series, lock, baseline) -> {
            run.record(contender, RATE, at, series.values(lock, Figure.CYCLES));
            run.record(contender, BASELINE, at, series.values(baseline, Figure.CYCLES));
            run.recordRatio(contender, RATIO, at, series.ratios(Figure.CYCLES, lock, baseline));
          });
    }
  }

  private static CycleTrial trial(Run run, OpenContender contender, Cycler client, int threads) {
    List<String> names = Stream.generate(contender::newName).limit(threads).toList();
    return run.cycles(client, threads, names::get);
  }
}
