package dev.interlock.compare;

import static dev.interlock.compare.Competitor.BASELINE;
import static dev.interlock.compare.Competitor.baseline;
import static dev.interlock.compare.Competitor.ours;
import static dev.interlock.compare.Target.atLeast;
import static dev.interlock.compare.Target.atMost;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** Measures the targets for ZooKeeper. */
final class ZooKeeperTargets {
  private ZooKeeperTargets() {}

  static void measure(Bench bench) throws InterruptedException {
    Competitor<Locking> curator = OtherLocks.mutex();
    Section.Measured own = bench.uncontended(null, List.of(baseline(), ours(), curator));
    own.ratio(Figure.CYCLE_P50, BASELINE, atMost(1.05));
    own.ratio(Figure.CYCLE_P50, curator.name(), atMost(0.75));
    AtomicLong names = new AtomicLong();
    bench
        .cycles(
            "a fresh name each time",
            1,
            1,
            number -> "fresh-" + names.incrementAndGet(),
            null,
            List.of(ours(), curator))
        .ratio(Figure.CYCLE_P50, curator.name(), atMost(0.65));
    bench
        .ownNames(64, null, List.of(baseline(), ours(), curator))
        .ratio(Figure.CYCLES, curator.name(), atLeast(1.1));
    for (int threads : new int[] {1, 2}) {
      bench
          .contention(5, threads, null, List.of(ours(), curator))
          .ratio(Figure.HANDOFF_P50, curator.name(), atMost(threads == 1 ? 0.65 : 0.8));
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
