package dev.interlock.bench.peers;

import dev.interlock.report.Unit;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** What the targets ask of etcd. */
final class EtcdRows {
  private static final Duration HOLD = Duration.ofMillis(20);
  private static final String FRESH = "Interlock, a fresh name each time";
  private static final String WORN = "Interlock, a worn name";

  private EtcdRows() {}

  static void measure(Bench bench) throws InterruptedException {
    Entrant<Contender> shared = JetcdLock.onSharedLease();
    Entrant<WaitingContender> each = JetcdLock.onLeaseEach();
    Series own =
        bench.pairs(
            "uncontended",
            1,
            number -> "own",
            new EtcdRequests(bench.deployment().uri()),
            List.of(Entrant.floor(), Entrant.ours(), shared, each));
    bench.row(
        "uncontended: p50 of a pair, to jetcd's Lock on a shared lease",
        Target.atMost(1.05, Unit.RATIO),
        own.ratio(Figure.PAIR_P50, Entrant.OURS, shared.name()));
    bench.row(
        "uncontended: p50 of a pair, to jetcd's Lock with a lease each",
        Target.atMost(0.55, Unit.RATIO),
        own.ratio(Figure.PAIR_P50, Entrant.OURS, each.name()));
    bench.row(
        "uncontended: requests for a pair",
        Target.atMost(2, Unit.COUNT),
        own.spread(Entrant.OURS, Figure.PAIR_REQUESTS));
    worn(bench);

    handoffs(bench, each);
    bench.hundredThreads(List.of(each));
    bench.starts();
  }

  /** To one that waits already, and in a line where most handoffs find nobody who waits long. */
  private static void handoffs(Bench bench, Entrant<WaitingContender> peer)
      throws InterruptedException {
    List<Entrant<WaitingContender>> both = List.of(Entrant.ours(), peer);
    Series turns = bench.turnsOf(HOLD, both);
    // The mean: a watch that is late for one handoff is in time for the next, so that every other
    // one of jetcd's is quick, and its median is chance.
    bench.row(
        turns.name() + ": mean of a handoff of jetcd's Lock with a lease each, to ours",
        Target.atLeast(10, Unit.RATIO),
        turns.ratio(Figure.HAND_OVER_MEAN, peer.name(), Entrant.OURS));
    stalls(bench, turns);
    Series hot = bench.contest(5, 2, null, both);
    bench.row(
        hot.name() + ": handoffs a second, to those of jetcd's Lock with a lease each",
        Target.atLeast(10, Unit.RATIO),
        hot.ratio(Figure.HAND_OVERS, Entrant.OURS, peer.name()));
    stalls(bench, hot);
  }

  private static void stalls(Bench bench, Series series) {
    bench.row(
        series.name() + ": p99 of a handoff",
        Target.atMost(0.01, Unit.SECONDS),
        series.spread(Entrant.OURS, Figure.HAND_OVER_P99));
  }

  private static void worn(Bench bench) throws InterruptedException {
    int wear = bench.effort().wear();
    String what = "a name after " + wear + " pairs";
    AtomicLong names = new AtomicLong();
    Map<String, Bench.RoundOpener> openers = new LinkedHashMap<>();
    openers.put(
        FRESH,
        opened -> {
          Ours client = new Ours(bench.deployment().uri());
          opened.accept(client);
          return new PairRound(
              client,
              1,
              bench.effort().pairs(),
              number -> "fresh-" + names.incrementAndGet(),
              null);
        });
    openers.put(
        WORN,
        opened -> {
          Ours client = new Ours(bench.deployment().uri());
          opened.accept(client);
          for (int i = 0; i < wear; i++) {
            client.pair("worn");
          }
          return new PairRound(client, 1, bench.effort().pairs(), number -> "worn", null);
        });
    Series series = bench.measure(what, openers);
    bench.row(
        what + ": p50 of the next ones, to fresh names",
        Target.atMost(1.1, Unit.RATIO),
        series.ratio(Figure.PAIR_P50, WORN, FRESH));
  }
}
