package dev.interlock.bench;

import static dev.interlock.bench.Competitor.BASELINE;
import static dev.interlock.bench.Competitor.OURS;
import static dev.interlock.bench.Competitor.baseline;
import static dev.interlock.bench.Competitor.ours;
import static dev.interlock.bench.Target.atLeast;
import static dev.interlock.bench.Target.atMost;
import static dev.interlock.compare.rounds.Figure.HANDOFFS;
import static dev.interlock.compare.rounds.Figure.PAIR_P50;
import static dev.interlock.compare.rounds.Figure.PROCESSOR;

import dev.interlock.LockClient;
import dev.interlock.compare.rounds.Locking;
import dev.interlock.compare.rounds.Rounds;
import dev.interlock.compare.rounds.Series;
import dev.interlock.compare.rounds.Trial;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.run.Proxies;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The targets for Redlock on five servers. */
final class RedlockTargets {
  private static final int DEFAULT_PORT = 6379;
  private static final int SILENT = 2;
  private static final String ALL_UP = "Interlock, all behind proxies";
  private static final String TORN = "Interlock, two of five silent";

  private RedlockTargets() {}

  static void measure(Bench bench) throws InterruptedException {
    Competitor<Locking> redisson = OtherLocks.redLock();
    Competitor<Locking> oneThread = BareRedlock.onOneThread();
    Series<String> own = bench.uncontended(null, List.of(baseline(), oneThread, ours(), redisson));
    bench.row(
        "uncontended: p50 of a pair, to one thread that writes to five sockets and reads them",
        atMost(1.2),
        own.ratios(PAIR_P50, OURS, oneThread.name()));
    bench.row(
        "uncontended: the client's processor time, to the same",
        atMost(1.4),
        own.ratios(PROCESSOR, OURS, oneThread.name()));
    bench.row(
        "uncontended: p50 of a pair, to five bare calls in parallel",
        atMost(1.25),
        own.ratios(PAIR_P50, OURS, BASELINE));
    bench.row(
        "uncontended: p50 of a pair, to RedissonRedLock's",
        atMost(0.4),
        own.ratios(PAIR_P50, OURS, redisson.name()));

    Series<String> two = bench.contention(2, 1, null, List.of(ours(), oneThread, redisson));
    bench.row(
        "one name, 2 clients × 1: pairs a second, to bare Redlock on one thread each",
        atLeast(0.8),
        two.ratios(HANDOFFS, OURS, oneThread.name()));
    bench.row(
        "the same, to RedissonRedLock's", atLeast(3), two.ratios(HANDOFFS, OURS, redisson.name()));

    Map<String, Rounds.Opener> networks = new LinkedHashMap<>();
    networks.put(ALL_UP, () -> behindProxies(bench, 0));
    networks.put(TORN, () -> behindProxies(bench, SILENT));
    Series<String> torn = bench.measure("two of five nodes black-holed", networks);
    bench.row(
        "two of five nodes black-holed: p50 of a pair, to all nodes up",
        atMost(1.5),
        torn.ratios(PAIR_P50, TORN, ALL_UP));

    List<Competitor<Locking>> bare = List.of(BareRedlock.prompt(), BareRedlock.patient());
    Series<String> hot = bench.contention(5, 20, null, List.of(ours(), bare.get(0), bare.get(1)));
    for (Competitor<Locking> each : bare) {
      bench.row(
          "one name, 100 threads over 5 clients: handoffs a second, to " + each.name(),
          atLeast(5),
          hot.ratios(HANDOFFS, OURS, each.name()));
    }
    bench.hundredThreads(List.of(redisson));
    bench.starts();
  }

  /** A client that has seen all nodes before some of them fall silent. */
  private static Trial behindProxies(Bench bench, int silent) throws Exception {
    Network network = Proxies.network(bench.deployment().uri(), DEFAULT_PORT).orElseThrow();
    Locking client = Locking.by(LockClient.open(network.uri()));
    client.pair("behind-proxies");
    network.proxies().subList(0, silent).forEach(FaultProxy::partition);
    return bench.alone(client.over(network), number -> "behind-proxies-" + silent);
  }
}
