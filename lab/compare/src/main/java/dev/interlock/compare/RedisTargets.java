package dev.interlock.compare;

import static dev.interlock.compare.Competitor.BASELINE;
import static dev.interlock.compare.Competitor.baseline;
import static dev.interlock.compare.Competitor.ours;
import static dev.interlock.compare.Target.atLeast;
import static dev.interlock.compare.Target.atMost;
import static dev.interlock.report.Unit.COUNT;

import dev.interlock.testbed.redis.RedisServer;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Measures the targets for one Redis server. */
final class RedisTargets {

  /** The targets for the rate of cycles, relative to the bare calls, by number of threads. */
  private static final Map<Integer, Target> OWN_NAMES =
      new TreeMap<>(Map.of(1, atLeast(0.97), 4, atLeast(0.95), 16, atLeast(1.3), 64, atLeast(1.6)));

  private RedisTargets() {}

  static void measure(Bench bench) throws InterruptedException {
    RequestCounter requests = new RedisRequests((RedisServer) bench.deployment());
    Competitor<Locking> redisson = OtherLocks.rLock();
    Competitor<Locking> spring = OtherLocks.springRegistry();
    for (Map.Entry<Integer, Target> threads : OWN_NAMES.entrySet()) {
      Section.Measured own =
          bench.ownNames(threads.getKey(), requests, List.of(baseline(), ours(), redisson, spring));
      if (threads.getKey() == 1) {
        own.ratio(Figure.CYCLE_P50, BASELINE, atMost(1.05));
        own.ratio(Figure.CYCLE_PROCESSOR_TIME, BASELINE, atMost(1.05));
        own.value(Figure.CYCLE_REQUESTS, atMost(2, COUNT));
      }
      own.ratio(Figure.CYCLES, BASELINE, threads.getValue());
      if (threads.getKey() == 64) {
        own.ratio(Figure.CYCLES, redisson.name(), atLeast(4));
      }
    }
    Section.Measured hot = bench.contention(5, 2, requests, List.of(ours(), redisson, spring));
    hot.ratio(Figure.HANDOFF_P50, redisson.name(), atMost(0.5));
    hot.value(Figure.FAIRNESS, atLeast(0.95, COUNT));
    hot.value(Figure.HANDOFF_REQUESTS, atMost(4, COUNT));
    bench.hundredThreads(List.of(redisson, spring));
    SharedTargets.measure(
        bench, requests, OtherLocks.rReaders(), OtherLocks.rPermits(SharedTargets.PERMITS));
    bench.starts();
  }
}
