package dev.interlock.bench.peers;

import dev.interlock.compare.rounds.Figure;
import dev.interlock.compare.rounds.Locking;
import dev.interlock.compare.rounds.Series;
import dev.interlock.report.Unit;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** The targets for ZooKeeper. */
final class ZooKeeperRows {
  private static final int MANY = 64;

  private ZooKeeperRows() {}

  static void measure(Bench bench) throws InterruptedException {
    Peer<Locking> curator = CuratorLocks.lock();
    Series<String> own = bench.uncontended(null, List.of(Peer.baseline(), Peer.ours(), curator));
    bench.row(
        "uncontended: p50 of a pair, to the bare calls",
        Target.atMost(1.05, Unit.RATIO),
        own.ratios(Figure.PAIR_P50, Peer.OURS, Peer.BASELINE));
    bench.row(
        "uncontended: p50 of a pair, to InterProcessMutex's",
        Target.atMost(0.75, Unit.RATIO),
        own.ratios(Figure.PAIR_P50, Peer.OURS, curator.name()));

    AtomicLong names = new AtomicLong();
    Series<String> fresh =
        bench.pairs(
            "a fresh name each time",
            1,
            number -> "fresh-" + names.incrementAndGet(),
            null,
            List.of(Peer.ours(), curator));
    bench.row(
        "a fresh name each time: p50 of a pair, to InterProcessMutex's",
        Target.atMost(0.65, Unit.RATIO),
        fresh.ratios(Figure.PAIR_P50, Peer.OURS, curator.name()));

    Series<String> many =
        bench.pairs(
            MANY + " threads, a name each",
            MANY,
            number -> "own-" + number,
            null,
            List.of(Peer.baseline(), Peer.ours(), curator));
    bench.row(
        many.name() + ": pairs a second, to InterProcessMutex's",
        Target.atLeast(1.1, Unit.RATIO),
        many.ratios(Figure.PAIRS, Peer.OURS, curator.name()));

    for (int threads : new int[] {1, 2}) {
      Series<String> hot = bench.contention(5, threads, null, List.of(Peer.ours(), curator));
      bench.row(
          hot.name() + ": p50 of a handoff, to InterProcessMutex's",
          Target.atMost(threads == 1 ? 0.65 : 0.8, Unit.RATIO),
          hot.ratios(Figure.HANDOFF_P50, Peer.OURS, curator.name()));
    }
    bench.hundredThreads(List.of(curator));
    SharedRows.measure(
        bench, null, CuratorLocks.readers(), CuratorLocks.permits(SharedRows.PERMITS));
    bench.takeovers(curator.name());
    bench.starts();
  }
}
