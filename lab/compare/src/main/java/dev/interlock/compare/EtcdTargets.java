package dev.interlock.compare;

import static dev.interlock.compare.Competitor.OURS;
import static dev.interlock.compare.Competitor.baseline;
import static dev.interlock.compare.Competitor.ours;
import static dev.interlock.compare.Target.atLeast;
import static dev.interlock.compare.Target.atMost;
import static dev.interlock.report.Unit.COUNT;
import static dev.interlock.report.Unit.SECONDS;

import dev.interlock.LockClient;
import dev.interlock.compare.baseline.Pairs;
import java.time.Duration;
import java.util.List;
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
    RequestCounter requests = new EtcdRequests(bench.deployment().uri());
    Section.Measured own = bench.uncontended(requests, List.of(baseline(), ours(), pooled, each));
    own.ratio(Figure.PAIR_P50, pooled.name(), atMost(1.05));
    own.ratio(Figure.PAIR_P50, each.name(), atMost(0.55));
    own.value(Figure.PAIR_REQUESTS, atMost(2, COUNT));
    for (int threads : new int[] {16, 64}) {
      bench
          .ownNames(threads, requests, List.of(baseline(), ours(), pooled))
          .ratio(Figure.PAIRS, pooled.name(), atLeast(1.05));
    }
    worn(bench);
    handoffs(bench, each);
    bench.hundredThreads(List.of(each));
    bench.starts();
  }

  /** To a client that waits already, and in a queue where most waits are short. */
  private static void handoffs(Bench bench, Competitor<Locking> peer) throws InterruptedException {
    List<Competitor<Locking>> both = List.of(ours(), peer);
    Section.Measured turns = bench.turnsOf(HOLD, both);
    // The mean: a watch that is late for one handoff is in time for the next, so that every other
    // one of jetcd's is quick, and its median is chance.
    turns.ratio(Figure.HANDOFF_MEAN, peer.name(), OURS, atLeast(10));
    turns.value(Figure.HANDOFF_P99, atMost(0.01, SECONDS));
    Section.Measured hot = bench.contention(5, 2, null, both);
    hot.ratio(Figure.HANDOFFS, peer.name(), atLeast(10));
    hot.value(Figure.HANDOFF_P99, atMost(0.01, SECONDS));
  }

  private static void worn(Bench bench) throws InterruptedException {
    int wear = bench.profile().wear();
    AtomicLong names = new AtomicLong();
    bench
        .measure(
            "a name after " + wear + " pairs",
            List.of(FRESH, WORN),
            contender -> {
              Locking client = Locking.by(LockClient.open(bench.deployment().uri()));
              if (contender.equals(FRESH)) {
                return bench.alone(client, number -> "fresh-" + names.incrementAndGet());
              }
              for (int i = 0; i < wear; i++) {
                client.pair("worn");
              }
              return bench.alone(client, number -> "worn");
            })
        .ratio(Figure.PAIR_P50, WORN, FRESH, atMost(1.1));
  }
}
