package dev.interlock.compare;

import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Network;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What distance costs. */
final class AddedLatency implements Scenario {
  static final String ID = "added-latency";
  static final String ROUND_TRIP = "ms";
  static final Metric P50 = new Metric("latency-p50", "p50", Unit.SECONDS);
  static final Metric FLOOR = new Metric("floor-latency-p50", "floor p50", Unit.SECONDS);
  static final Metric ROUND_TRIPS = new Metric("round-trips", "round trips", Unit.COUNT);

  @Override
  public String id() {
    return ID;
  }

  @Override
  public String title() {
    return "Distance to the server";
  }

  @Override
  public String explanation() {
    return "The latency of a pair when replies are made late by a proxy. The number of round trips"
        + " follows from how the latency grows. The proxy's own delay, and that its clock counts"
        + " whole milliseconds, is in all of the numbers.";
  }

  @Override
  public List<Column> columns(Effort effort) {
    List<Column> columns = new ArrayList<>();
    for (Duration added : effort.roundTrips()) {
      columns.add(new Column("+" + added.toMillis() + " ms: p50", P50, point(added)));
      columns.add(new Column("floor", FLOOR, point(added)));
    }
    columns.add(new Column(ROUND_TRIPS));
    return columns;
  }

  @Override
  public List<Chart> charts() {
    return List.of(
        new Chart.Lines(
            "Latency of a pair, median", P50, ROUND_TRIP, "added to the round trip, in ms"));
  }

  @Override
  public Duration estimate(Effort effort, int backends) {
    return effort.roundsOf(2 * backends * effort.roundTrips().size());
  }

  private static Point point(Duration added) {
    return new Point(ROUND_TRIP, added.toMillis());
  }

  @Override
  public void run(Run run) throws InterruptedException {
    run.oneByOne(
        subject -> {
          Optional<Network> network = subject.network();
          network.ifPresent(Network::close);
          if (network.isEmpty()) {
            run.skip(subject, "there is no network to delay, or its clients go round the proxy");
          }
        });
    for (Duration added : run.effort().roundTrips()) {
      run.interleaved(subject -> trials(run, subject, added));
    }
    roundTrips(run);
  }

  private static List<Trial> trials(Run run, Subject subject, Duration added) throws Exception {
    List<Trial> trials = new ArrayList<>();
    Optional<Network> forLock = subject.network();
    if (forLock.isEmpty()) {
      return trials;
    }
    Network network = forLock.get();
    trials.add(
        late(
            network,
            added,
            new PairTrial(
                subject,
                Pairs.byLock(LockClient.open(network.uri(), Subject.options())),
                (rounds, all, results) ->
                    run.measured(
                        subject,
                        P50,
                        point(added),
                        Uncontended.each(rounds, round -> round.quantile(0.5))))));
    Network forFloor = subject.network().orElseThrow();
    Pairs floor = Pairs.byDriver(subject, forFloor.uri(), 1);
    if (floor == null) {
      forFloor.close();
      return trials;
    }
    trials.add(
        late(
            forFloor,
            added,
            new PairTrial(
                subject,
                floor,
                (rounds, all, results) ->
                    run.measured(
                        subject,
                        FLOOR,
                        point(added),
                        Uncontended.each(rounds, round -> round.quantile(0.5))))));
    return trials;
  }

  /** Connected already; from now on everything is late. */
  private static Trial late(Network network, Duration added, Trial trial) {
    network.delay(Direction.SERVER_TO_CLIENT, added);
    return new Trial() {
      @Override
      public Subject subject() {
        return trial.subject();
      }

      @Override
      public void round(Duration slice, boolean warmUp) throws Exception {
        trial.round(slice, warmUp);
      }

      @Override
      public void report(Results results) {
        trial.report(results);
      }

      @Override
      public void close() {
        network.heal();
        trial.close();
        network.close();
      }
    };
  }

  private static void roundTrips(Run run) {
    List<Duration> added = run.effort().roundTrips();
    if (added.size() < 2) {
      return;
    }
    Duration near = added.get(0);
    Duration far = added.get(added.size() - 1);
    for (Subject subject : run.subjects()) {
      Optional<Measurement> first = run.results().find(ID, subject.name(), P50, point(near));
      Optional<Measurement> last = run.results().find(ID, subject.name(), P50, point(far));
      if (first.isPresent() && last.isPresent()) {
        double slope = (last.get().value() - first.get().value()) * 1e9 / far.minus(near).toNanos();
        run.measured(subject, ROUND_TRIPS, List.of(slope));
      }
    }
  }
}
