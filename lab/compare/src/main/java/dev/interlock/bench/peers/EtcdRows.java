package dev.interlock.bench.peers;

import dev.interlock.LockClient;
import dev.interlock.compare.rounds.Figure;
import dev.interlock.compare.rounds.Locking;
import dev.interlock.compare.rounds.Pairs;
import dev.interlock.compare.rounds.Rounds;
import dev.interlock.compare.rounds.Series;
import dev.interlock.report.Unit;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** The targets for etcd. */
final class EtcdRows {
  private static final Duration HOLD = Duration.ofMillis(20);
  private static final String FRESH = "Interlock, a fresh name each time";
  private static final String WORN = "Interlock, a worn name";

  private EtcdRows() {}

  static void measure(Bench bench) throws InterruptedException {
    Peer<Pairs> pooled = JetcdLock.onPooledLeases();
    Peer<Locking> each = JetcdLock.onLeaseEach();
    Series<String> own =
        bench.uncontended(
            new EtcdRequests(bench.deployment().uri()),
            List.of(Peer.baseline(), Peer.ours(), pooled, each));
    bench.row(
        "uncontended: p50 of a pair, to jetcd's Lock on one lease for all",
        Target.atMost(1.05, Unit.RATIO),
        own.ratios(Figure.PAIR_P50, Peer.OURS, pooled.name()));
    bench.row(
        "uncontended: p50 of a pair, to jetcd's Lock with a lease each",
        Target.atMost(0.55, Unit.RATIO),
        own.ratios(Figure.PAIR_P50, Peer.OURS, each.name()));
    bench.row(
        "uncontended: requests for a pair",
        Target.atMost(2, Unit.COUNT),
        own.values(Peer.OURS, Figure.PAIR_REQUESTS));
    ownNames(bench, pooled);
    worn(bench);
    handoffs(bench, each);
    bench.hundredThreads(List.of(each));
    bench.starts();
  }

  private static void ownNames(Bench bench, Peer<Pairs> pooled) throws InterruptedException {
    for (int threads : new int[] {16, 64}) {
      String what = "own names, " + threads + " threads";
      Series<String> own =
          bench.pairs(
              what,
              threads,
              number -> "own-" + number,
              new EtcdRequests(bench.deployment().uri()),
              List.of(Peer.baseline(), Peer.ours(), pooled));
      bench.row(
          what + ": pairs a second, to jetcd's Lock with pooled leases",
          Target.atLeast(1.05, Unit.RATIO),
          own.ratios(Figure.PAIRS, Peer.OURS, pooled.name()));
    }
  }

  /** To a client that waits already, and in a queue where most waits are short. */
  private static void handoffs(Bench bench, Peer<Locking> peer) throws InterruptedException {
    List<Peer<Locking>> both = List.of(Peer.ours(), peer);
    Series<String> turns = bench.turnsOf(HOLD, both);
    // The mean: a watch that is late for one handoff is in time for the next, so that every other
    // one of jetcd's is quick, and its median is chance.
    bench.row(
        turns.name() + ": mean of a handoff of jetcd's Lock with a lease each, to ours",
        Target.atLeast(10, Unit.RATIO),
        turns.ratios(Figure.HANDOFF_MEAN, peer.name(), Peer.OURS));
    stalls(bench, turns);
    Series<String> hot = bench.contention(5, 2, null, both);
    bench.row(
        hot.name() + ": handoffs a second, to those of jetcd's Lock with a lease each",
        Target.atLeast(10, Unit.RATIO),
        hot.ratios(Figure.HANDOFFS, Peer.OURS, peer.name()));
    stalls(bench, hot);
  }

  private static void stalls(Bench bench, Series<String> series) {
    bench.row(
        series.name() + ": p99 of a handoff",
        Target.atMost(0.01, Unit.SECONDS),
        series.values(Peer.OURS, Figure.HANDOFF_P99));
  }

  private static void worn(Bench bench) throws InterruptedException {
    int wear = bench.profile().wear();
    String what = "a name after " + wear + " pairs";
    AtomicLong names = new AtomicLong();
    Map<String, Rounds.Opener> openers = new LinkedHashMap<>();
    openers.put(
        FRESH, () -> bench.alone(open(bench), number -> "fresh-" + names.incrementAndGet()));
    openers.put(
        WORN,
        () -> {
          Locking client = open(bench);
          for (int i = 0; i < wear; i++) {
            client.pair("worn");
          }
          return bench.alone(client, number -> "worn");
        });
    Series<String> series = bench.measure(what, openers);
    bench.row(
        what + ": p50 of the next ones, to fresh names",
        Target.atMost(1.1, Unit.RATIO),
        series.ratios(Figure.PAIR_P50, WORN, FRESH));
  }

  private static Locking open(Bench bench) {
    return Locking.by(LockClient.open(bench.deployment().uri()));
  }
}
