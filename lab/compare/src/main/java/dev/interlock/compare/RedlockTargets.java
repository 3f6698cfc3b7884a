package dev.interlock.compare;

import static dev.interlock.compare.Competitor.BASELINE;
import static dev.interlock.compare.Competitor.baseline;
import static dev.interlock.compare.Competitor.ours;
import static dev.interlock.compare.Target.atLeast;
import static dev.interlock.compare.Target.atMost;

import dev.interlock.LockClient;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.run.Proxies;
import java.util.List;

/** Measures the targets for Redlock on five servers. */
final class RedlockTargets {
  private static final int DEFAULT_PORT = 6379;
  private static final String ALL_ANSWER = "Interlock, all behind proxies";
  private static final String TWO_SILENT = "Interlock, two of five silent";

  private RedlockTargets() {}

  static void measure(Bench bench) throws InterruptedException {
    Competitor<Locking> redisson = OtherLocks.redLock();
    Competitor<Locking> oneThread = BareRedlock.onOneThread();
    Section.Measured own =
        bench.uncontended(null, List.of(baseline(), oneThread, ours(), redisson));
    own.ratio(Figure.CYCLE_P50, oneThread.name(), atMost(1.2));
    own.ratio(Figure.CYCLE_PROCESSOR_TIME, oneThread.name(), atMost(1.4));
    own.ratio(Figure.CYCLE_P50, BASELINE, atMost(1.25));
    own.ratio(Figure.CYCLE_P50, redisson.name(), atMost(0.4));

    Section.Measured two = bench.contention(2, 1, null, List.of(ours(), oneThread, redisson));
    two.ratio(Figure.HANDOFFS, oneThread.name(), atLeast(0.8));
    two.ratio(Figure.HANDOFFS, redisson.name(), atLeast(3));

    bench
        .measure(
            "two of five nodes black-holed",
            List.of(ALL_ANSWER, TWO_SILENT),
            contender -> behindProxies(bench, contender.equals(TWO_SILENT) ? 2 : 0))
        .ratio(Figure.CYCLE_P50, TWO_SILENT, ALL_ANSWER, atMost(1.5));

    Competitor<Locking> shortPauses = BareRedlock.withShortPauses();
    Competitor<Locking> longPauses = BareRedlock.withLongPauses();
    Section.Measured hot = bench.contention(5, 20, null, List.of(ours(), shortPauses, longPauses));
    hot.ratio(Figure.HANDOFFS, shortPauses.name(), atLeast(5));
    hot.ratio(Figure.HANDOFFS, longPauses.name(), atLeast(5));
    bench.hundredThreads(List.of(redisson));
    bench.starts();
  }

  /** Opens a client that reaches all nodes before some of them fall silent. */
  private static Trial behindProxies(Bench bench, int silent) throws Exception {
    Network network = Proxies.network(bench.deployment().uri(), DEFAULT_PORT).orElseThrow();
    Locking client = Locking.locks(LockClient.open(network.uri()));
    client.cycle("behind-proxies");
    network.proxies().subList(0, silent).forEach(FaultProxy::partition);
    return bench.oneThread(client.alsoClosing(network), number -> "behind-proxies-" + silent);
  }
}
