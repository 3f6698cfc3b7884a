package dev.interlock.compare;

import dev.interlock.compare.baseline.Cycler;
import dev.interlock.report.Unit;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Network;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Measures the cost of a distant server. */
final class AddedLatency extends Scenario {
  static final String ROUND_TRIP = "ms";
  static final Metric P50 = new Metric("latency-p50", "p50", Unit.SECONDS);
  static final Metric BASELINE = new Metric("baseline-latency-p50", "baseline p50", Unit.SECONDS);
  static final Metric ROUND_TRIPS = new Metric("round-trips", "round trips", Unit.COUNT);

  AddedLatency() {
    super(
        "added-latency",
        "Network latency",
        """
        The latency of an uncontended cycle when a proxy delays the replies. The number of round
        trips follows from how the latency grows. All numbers include the proxy's own delay and the
        error of its clock, which counts whole milliseconds.
        """,
        List.of(),
        List.of(
            new Chart.Lines(
                "Latency of a cycle, median", P50, ROUND_TRIP, "added to the round trip, in ms")));
  }

  @Override
  List<Column> columns(Profile profile) {
    List<Column> columns = new ArrayList<>();
    for (Duration added : profile.roundTrips()) {
      columns.add(new Column("+" + added.toMillis() + " ms: p50", P50, point(added)));
      columns.add(new Column("baseline", BASELINE, point(added)));
    }
    columns.add(new Column(ROUND_TRIPS));
    return columns;
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    return profile.roundsOf(2 * backends * profile.roundTrips().size());
  }

  private static Point point(Duration added) {
    return new Point(ROUND_TRIP, added.toMillis());
  }

  @Override
  void run(Run run) throws InterruptedException {
    List<OpenContender> distant = new ArrayList<>();
    run.inTurn(contender -> run.onNetwork(contender, network -> distant.add(contender)));
    for (Duration added : run.profile().roundTrips()) {
      run.interleaved(
          distant,
          0,
          contender -> trial(run, contender, added, OpenContender::locking),
          contender -> trial(run, contender, added, uri -> contender.baseline(uri, 1)),
          (contender, series, lock, baseline) -> {
            run.record(contender, P50, point(added), series.values(lock, Figure.CYCLE_P50));
            run.record(
                contender, BASELINE, point(added), series.values(baseline, Figure.CYCLE_P50));
          });
    }
    roundTrips(run);
  }

  private interface Opener {
    Cycler open(String uri) throws Exception;
  }

  /** Connects through the proxy, which delays all replies from then on. */
  private static Trial trial(Run run, OpenContender contender, Duration added, Opener opener)
      throws Exception {
    Network network = contender.network().orElseThrow();
    Cycler client;
    try {
      client = opener.open(network.uri());
    } catch (Exception | LinkageError e) {
      network.close();
      throw e;
    }
    network.delay(Direction.SERVER_TO_CLIENT, added);
    return run.cycles(contender, client.alsoClosing(network), 1);
  }

  private void roundTrips(Run run) {
    List<Duration> added = run.profile().roundTrips();
    Duration near = added.get(0);
    Duration far = added.get(added.size() - 1);
    if (near.equals(far)) {
      return;
    }
    for (OpenContender contender : run.contenders()) {
      Optional<Results.Measurement> first =
          run.results().find(id(), contender.name(), P50, point(near));
      Optional<Results.Measurement> last =
          run.results().find(id(), contender.name(), P50, point(far));
      if (first.isPresent() && last.isPresent()) {
        double grown = last.get().value() - first.get().value();
        run.record(contender, ROUND_TRIPS, grown * 1e9 / far.minus(near).toNanos());
      }
    }
  }
}
