package dev.interlock.compare;

import static dev.interlock.compare.Competitor.OURS;
import static dev.interlock.compare.Competitor.baseline;
import static dev.interlock.compare.Competitor.ours;
import static dev.interlock.compare.Target.atLeast;
import static dev.interlock.compare.Target.atMost;
import static dev.interlock.report.Unit.COUNT;
import static dev.interlock.report.Unit.SECONDS;

import dev.interlock.LockClient;
import dev.interlock.compare.baseline.Cycler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** Measures the targets for etcd. */
final class EtcdTargets {
  private static final Duration HOLD = Duration.ofMillis(20);
  private static final String FRESH = "Interlock, a fresh name each time";
  private static final String WORN = "Interlock, a worn name";

  private EtcdTargets() {}

  static void measure(Bench bench) throws InterruptedException {
    Competitor<Cycler> pooled = JetcdLock.withPooledLeases();
    Competitor<Locking> leasePerCycle = JetcdLock.withLeasePerCycle();
    RequestCounter requests = new EtcdRequests(bench.deployment().uri());
    Section.Measured own =
        bench.uncontended(requests, List.of(baseline(), ours(), pooled, leasePerCycle));
    own.ratio(Figure.CYCLE_P50, pooled.name(), atMost(1.05));
    own.ratio(Figure.CYCLE_P50, leasePerCycle.name(), atMost(0.55));
    own.value(Figure.CYCLE_REQUESTS, atMost(2, COUNT));
    for (int threads : new int[] {16, 64}) {
      bench
          .ownNames(threads, requests, List.of(baseline(), ours(), pooled))
          .ratio(Figure.CYCLES, pooled.name(), atLeast(1.05));
    }
    worn(bench);
    handoffs(bench, leasePerCycle);
    bench.hundredThreads(List.of(leasePerCycle));
    bench.starts();
  }

  /**
   * Measures handoffs to a client that already waits, and in a queue where most waits are short.
   */
  private static void handoffs(Bench bench, Competitor<Locking> peer) throws InterruptedException {
    List<Competitor<Locking>> both = List.of(ours(), peer);
    Section.Measured alternating = bench.alternating(HOLD, both);
    // The targets compare means: when a watch of jetcd is late for one handoff, it is in time for
    // the next one. So every other handoff is quick, and the median is a matter of chance.
    alternating.ratio(Figure.HANDOFF_MEAN, peer.name(), OURS, atLeast(10));
    alternating.value(Figure.HANDOFF_P99, atMost(0.01, SECONDS));
    Section.Measured hot = bench.contention(5, 2, null, both);
    hot.ratio(Figure.HANDOFFS, peer.name(), atLeast(10));
    hot.value(Figure.HANDOFF_P99, atMost(0.01, SECONDS));
  }

  private static void worn(Bench bench) throws InterruptedException {
    int wearCycles = bench.profile().wearCycles();
    AtomicLong names = new AtomicLong();
    bench
        .measure(
            "a name after " + wearCycles + " cycles",
            List.of(FRESH, WORN),
            contender -> {
              Locking client = Locking.locks(LockClient.open(bench.deployment().uri()));
              if (contender.equals(FRESH)) {
                return bench.oneThread(client, number -> "fresh-" + names.incrementAndGet());
              }
              for (int i = 0; i < wearCycles; i++) {
                client.cycle("worn");
              }
              return bench.oneThread(client, number -> "worn");
            })
        .ratio(Figure.CYCLE_P50, WORN, FRESH, atMost(1.1));
  }
}
