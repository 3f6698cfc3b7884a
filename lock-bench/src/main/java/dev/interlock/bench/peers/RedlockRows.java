package dev.interlock.bench.peers;

import dev.interlock.report.Unit;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.Network;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** What the targets ask of Redlock on five servers. */
final class RedlockRows {
  private static final int DEFAULT_PORT = 6379;
  private static final int SILENT = 2;
  private static final String ALL_UP = "Interlock, all behind proxies";
  private static final String TORN = "Interlock, two of five silent";

  private RedlockRows() {}

  static void measure(Bench bench) throws InterruptedException {
    Entrant<WaitingContender> redisson = RedissonClients.redLock();
    Series own =
        bench.pairs(
            "uncontended",
            1,
            number -> "own",
            null,
            List.of(Entrant.floor(), Entrant.ours(), redisson));
    bench.row(
        "uncontended: p50 of a pair, to five bare calls in parallel",
        Target.atMost(1.25, Unit.RATIO),
        own.ratio(Figure.PAIR_P50, Entrant.OURS, Entrant.FLOOR));
    bench.row(
        "uncontended: p50 of a pair, to RedissonRedLock's",
        Target.atMost(0.4, Unit.RATIO),
        own.ratio(Figure.PAIR_P50, Entrant.OURS, redisson.name()));

    Map<String, Bench.RoundOpener> networks = new LinkedHashMap<>();
    networks.put(ALL_UP, opened -> behindProxies(bench, 0, opened));
    networks.put(TORN, opened -> behindProxies(bench, SILENT, opened));
    Series torn = bench.measure("two of five nodes black-holed", networks);
    bench.row(
        "two of five nodes black-holed: p50 of a pair, to all nodes up",
        Target.atMost(1.5, Unit.RATIO),
        torn.ratio(Figure.PAIR_P50, TORN, ALL_UP));

    List<Entrant<WaitingContender>> floors = List.of(BareRedlock.prompt(), BareRedlock.patient());
    Series hot = bench.contest(5, 20, null, List.of(Entrant.ours(), floors.get(0), floors.get(1)));
    for (Entrant<WaitingContender> floor : floors) {
      bench.row(
          "one name, 100 threads over 5 clients: handoffs a second, to " + floor.name(),
          Target.atLeast(5, Unit.RATIO),
          hot.ratio(Figure.HAND_OVERS, Entrant.OURS, floor.name()));
    }
    bench.hundredThreads(List.of(redisson));
    bench.starts();
  }

  /** A client that has seen all nodes before some of them fall silent. */
  private static Round behindProxies(Bench bench, int silent, Consumer<AutoCloseable> opened)
      throws Exception {
    Network network = Network.inFrontOf(bench.deployment().uri(), DEFAULT_PORT).orElseThrow();
    opened.accept(network);
    Ours client = new Ours(network.uri());
    opened.accept(client);
    client.pair("behind-proxies");
    network.proxies().subList(0, silent).forEach(FaultProxy::partition);
    return new PairRound(
        client, 1, bench.effort().pairs(), number -> "behind-proxies-" + silent, null);
  }
}
