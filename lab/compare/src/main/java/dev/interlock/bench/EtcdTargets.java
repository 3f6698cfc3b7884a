package dev.interlock.bench;

import static dev.interlock.bench.Competitor.OURS;
import static dev.interlock.bench.Competitor.baseline;
import static dev.interlock.bench.Competitor.ours;
import static dev.interlock.bench.Target.atLeast;
import static dev.interlock.bench.Target.atMost;
import static dev.interlock.compare.rounds.Figure.HANDOFFS;
import static dev.interlock.compare.rounds.Figure.HANDOFF_MEAN;
import static dev.interlock.compare.rounds.Figure.HANDOFF_P99;
import static dev.interlock.compare.rounds.Figure.PAIRS;
import static dev.interlock.compare.rounds.Figure.PAIR_P50;
import static dev.interlock.compare.rounds.Figure.PAIR_REQUESTS;
import static dev.interlock.report.Unit.COUNT;
import static dev.interlock.report.Unit.SECONDS;

import dev.interlock.LockClient;
import dev.interlock.compare.rounds.Locking;
import dev.interlock.compare.rounds.Pairs;
import dev.interlock.compare.rounds.Rounds;
import dev.interlock.compare.rounds.Series;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** The targets for etcd. */
final class EtcdTargets {
  private static final Duration HOLD = Duration.ofMillis(20);
  private static final String FRESH = "Interlock, a fresh name each time";
  private static final String WORN = "Interlock, a worn name";

  private EtcdTargets() {}

  static void measure(Bench bench) throws InterruptedException {
    Competitor<Pairs> pooled = JetcdLock.onPooledLeases();
    Competitor<Locking> each = JetcdLock.onLeaseEach();
    Series<String> own =
        bench.uncontended(
            new EtcdRequests(bench.deployment().uri()), List.of(baseline(), ours(), pooled, each));
    bench.row(
        "uncontended: p50 of a pair, to jetcd's Lock on one lease for all",
        atMost(1.05),
        own.ratios(PAIR_P50, OURS, pooled.name()));
    bench.row(
        "uncontended: p50 of a pair, to jetcd's Lock with a lease each",
        atMost(0.55),
        own.ratios(PAIR_P50, OURS, each.name()));
    bench.row(
        "uncontended: requests for a pair", atMost(2, COUNT), own.values(OURS, PAIR_REQUESTS));
    ownNames(bench, pooled);
    worn(bench);
    handoffs(bench, each);
    bench.hundredThreads(List.of(each));
    bench.starts();
  }

  private static void ownNames(Bench bench, Competitor<Pairs> pooled) throws InterruptedException {
    for (int threads : new int[] {16, 64}) {
      String what = "own names, " + threads + " threads";
      Series<String> own =
          bench.pairs(
              what,
              1,
              threads,
              number -> "own-" + number,
              new EtcdRequests(bench.deployment().uri()),
              List.of(baseline(), ours(), pooled));
      bench.row(
          what + ": pairs a second, to jetcd's Lock with pooled leases",
          atLeast(1.05),
          own.ratios(PAIRS, OURS, pooled.name()));
    }
  }

  /** To a client that waits already, and in a queue where most waits are short. */
  private static void handoffs(Bench bench, Competitor<Locking> peer) throws InterruptedException {
    List<Competitor<Locking>> both = List.of(ours(), peer);
    Series<String> turns = bench.turnsOf(HOLD, both);
    // The mean: a watch that is late for one handoff is in time for the next, so that every other
    // one of jetcd's is quick, and its median is chance.
    bench.row(
        turns.name() + ": mean of a handoff of jetcd's Lock with a lease each, to ours",
        atLeast(10),
        turns.ratios(HANDOFF_MEAN, peer.name(), OURS));
    stalls(bench, turns);
    Series<String> hot = bench.contention(5, 2, null, both);
    bench.row(
        hot.name() + ": handoffs a second, to those of jetcd's Lock with a lease each",
        atLeast(10),
        hot.ratios(HANDOFFS, OURS, peer.name()));
    stalls(bench, hot);
  }

  private static void stalls(Bench bench, Series<String> series) {
    bench.row(
        series.name() + ": p99 of a handoff",
        atMost(0.01, SECONDS),
        series.values(OURS, HANDOFF_P99));
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
        atMost(1.1),
        series.ratios(PAIR_P50, WORN, FRESH));
  }

  private static Locking open(Bench bench) {
    return Locking.by(LockClient.open(bench.deployment().uri()));
  }
}
