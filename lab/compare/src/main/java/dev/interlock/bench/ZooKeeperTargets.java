package dev.interlock.bench;

import static dev.interlock.bench.Competitor.BASELINE;
import static dev.interlock.bench.Competitor.OURS;
import static dev.interlock.bench.Competitor.baseline;
import static dev.interlock.bench.Competitor.ours;
import static dev.interlock.bench.Target.atLeast;
import static dev.interlock.bench.Target.atMost;
import static dev.interlock.compare.rounds.Figure.HANDOFF_P50;
import static dev.interlock.compare.rounds.Figure.PAIRS;
import static dev.interlock.compare.rounds.Figure.PAIR_P50;

import dev.interlock.compare.rounds.Locking;
import dev.interlock.compare.rounds.Series;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** The targets for ZooKeeper. */
final class ZooKeeperTargets {
  private static final int MANY = 64;

  private ZooKeeperTargets() {}

  static void measure(Bench bench) throws InterruptedException {
    Competitor<Locking> curator = OtherLocks.mutex();
    Series<String> own = bench.uncontended(null, List.of(baseline(), ours(), curator));
    bench.row(
        "uncontended: p50 of a pair, to the bare calls",
        atMost(1.05),
        own.ratios(PAIR_P50, OURS, BASELINE));
    bench.row(
        "uncontended: p50 of a pair, to InterProcessMutex's",
        atMost(0.75),
        own.ratios(PAIR_P50, OURS, curator.name()));

    AtomicLong names = new AtomicLong();
    Series<String> fresh =
        bench.pairs(
            "a fresh name each time",
            1,
            1,
            number -> "fresh-" + names.incrementAndGet(),
            null,
            List.of(ours(), curator));
    bench.row(
        "a fresh name each time: p50 of a pair, to InterProcessMutex's",
        atMost(0.65),
        fresh.ratios(PAIR_P50, OURS, curator.name()));

    Series<String> many =
        bench.pairs(
            MANY + " threads, a name each",
            1,
            MANY,
            number -> "own-" + number,
            null,
            List.of(baseline(), ours(), curator));
    bench.row(
        many.name() + ": pairs a second, to InterProcessMutex's",
        atLeast(1.1),
        many.ratios(PAIRS, OURS, curator.name()));

    for (int threads : new int[] {1, 2}) {
      Series<String> hot = bench.contention(5, threads, null, List.of(ours(), curator));
      bench.row(
          hot.name() + ": p50 of a handoff, to InterProcessMutex's",
          atMost(threads == 1 ? 0.65 : 0.8),
          hot.ratios(HANDOFF_P50, OURS, curator.name()));
    }
    bench.hundredThreads(List.of(curator));
    SharedTargets.measure(
        bench,
        null,
        OtherLocks.zooKeeperReaders(),
        OtherLocks.zooKeeperPermits(SharedTargets.PERMITS));
    bench.takeovers(curator.name());
    bench.starts();
  }
}
