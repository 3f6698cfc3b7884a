package dev.interlock.bench.peers;

import dev.interlock.LockClient;
import dev.interlock.compare.rounds.Figure;
import dev.interlock.compare.rounds.Locking;
import dev.interlock.compare.rounds.Rounds;
import dev.interlock.compare.rounds.Series;
import dev.interlock.compare.rounds.Trial;
import dev.interlock.report.Unit;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.run.Proxies;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The targets for Redlock on five servers. */
final class RedlockRows {
  private static final int DEFAULT_PORT = 6379;
  private static final int SILENT = 2;
  private static final String ALL_UP = "Interlock, all behind proxies";
  private static final String TORN = "Interlock, two of five silent";

  private RedlockRows() {}

  static void measure(Bench bench) throws InterruptedException {
    Peer<Locking> redisson = RedissonClients.redLock();
    Peer<Locking> oneThread = OneThreadRedlock.peer();
    Series<String> own =
        bench.uncontended(null, List.of(Peer.baseline(), oneThread, Peer.ours(), redisson));
    bench.row(
        "uncontended: p50 of a pair, to one thread that writes to five sockets and reads them",
        Target.atMost(1.2, Unit.RATIO),
        own.ratios(Figure.PAIR_P50, Peer.OURS, oneThread.name()));
    bench.row(
        "uncontended: the client's processor time, to the same",
        Target.atMost(1.4, Unit.RATIO),
        own.ratios(Figure.PROCESSOR, Peer.OURS, oneThread.name()));
    bench.row(
        "uncontended: p50 of a pair, to five bare calls in parallel",
        Target.atMost(1.25, Unit.RATIO),
        own.ratios(Figure.PAIR_P50, Peer.OURS, Peer.BASELINE));
    bench.row(
        "uncontended: p50 of a pair, to RedissonRedLock's",
        Target.atMost(0.4, Unit.RATIO),
        own.ratios(Figure.PAIR_P50, Peer.OURS, redisson.name()));

    Series<String> two = bench.contention(2, 1, null, List.of(Peer.ours(), oneThread, redisson));
    bench.row(
        "one name, 2 clients × 1: pairs a second, to bare Redlock on one thread each",
        Target.atLeast(0.8, Unit.RATIO),
        two.ratios(Figure.HANDOFFS, Peer.OURS, oneThread.name()));
    bench.row(
        "the same, to RedissonRedLock's",
        Target.atLeast(3, Unit.RATIO),
        two.ratios(Figure.HANDOFFS, Peer.OURS, redisson.name()));

    Map<String, Rounds.Opener> networks = new LinkedHashMap<>();
    networks.put(ALL_UP, () -> behindProxies(bench, 0));
    networks.put(TORN, () -> behindProxies(bench, SILENT));
    Series<String> torn = bench.measure("two of five nodes black-holed", networks);
    bench.row(
        "two of five nodes black-holed: p50 of a pair, to all nodes up",
        Target.atMost(1.5, Unit.RATIO),
        torn.ratios(Figure.PAIR_P50, TORN, ALL_UP));

    List<Peer<Locking>> bare = List.of(BareRedlock.prompt(), BareRedlock.patient());
    Series<String> hot =
        bench.contention(5, 20, null, List.of(Peer.ours(), bare.get(0), bare.get(1)));
    for (Peer<Locking> each : bare) {
      bench.row(
          "one name, 100 threads over 5 clients: handoffs a second, to " + each.name(),
          Target.atLeast(5, Unit.RATIO),
          hot.ratios(Figure.HANDOFFS, Peer.OURS, each.name()));
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
