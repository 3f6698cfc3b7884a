package dev.interlock.bench.peers;

import dev.interlock.report.Unit;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** What the targets ask of ZooKeeper. */
final class ZooKeeperRows {
  private ZooKeeperRows() {}

  static void measure(Bench bench) throws InterruptedException {
    Entrant<WaitingContender> curator = CuratorMutex.lock();
    Series own =
        bench.pairs(
            "uncontended",
            1,
            number -> "own",
            null,
            List.of(Entrant.floor(), Entrant.ours(), curator));
    bench.row(
        "uncontended: p50 of a pair, to the bare calls",
        Target.atMost(1.05, Unit.RATIO),
        own.ratio(Figure.PAIR_P50, Entrant.OURS, Entrant.FLOOR));
    bench.row(
        "uncontended: p50 of a pair, to InterProcessMutex's",
        Target.atMost(0.75, Unit.RATIO),
        own.ratio(Figure.PAIR_P50, Entrant.OURS, curator.name()));

    AtomicLong names = new AtomicLong();
    Series fresh =
        bench.pairs(
            "a fresh name each time",
            1,
            number -> "fresh-" + names.incrementAndGet(),
            null,
            List.of(Entrant.ours(), curator));
    bench.row(
        "a fresh name each time: p50 of a pair, to InterProcessMutex's",
        Target.atMost(0.65, Unit.RATIO),
        fresh.ratio(Figure.PAIR_P50, Entrant.OURS, curator.name()));

    for (int threads : new int[] {1, 2}) {
      Series hot = bench.contest(5, threads, null, List.of(Entrant.ours(), curator));
      bench.row(
          hot.name() + ": p50 of a handoff, to InterProcessMutex's",
          Target.atMost(0.8, Unit.RATIO),
          hot.ratio(Figure.HAND_OVER_P50, Entrant.OURS, curator.name()));
    }
    bench.hundredThreads(List.of(curator));
    bench.starts();
  }
}
