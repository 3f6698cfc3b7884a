package dev.interlock.bench.peers;

import dev.interlock.compare.rounds.Figure;
import dev.interlock.compare.rounds.Locking;
import dev.interlock.compare.rounds.RequestCounter;
import dev.interlock.compare.rounds.Series;
import dev.interlock.report.Unit;
import dev.interlock.testbed.redis.RedisServer;
import java.util.List;

/** The targets for one Redis server. */
final class RedisRows {
  private RedisRows() {}

  static void measure(Bench bench) throws InterruptedException {
    RequestCounter requests = new RedisRequests((RedisServer) bench.deployment());
    Peer<Locking> redisson = RedissonClients.lock();
    ownNames(bench, requests, redisson);
    Series<String> hot =
        bench.contention(5, 2, requests, List.of(Peer.ours(), redisson, SpringRegistry.lock()));
    bench.row(
        "one name, 10 threads over 5 clients: p50 of a handoff, to Redisson's",
        Target.atMost(0.5, Unit.RATIO),
        hot.ratios(Figure.HANDOFF_P50, Peer.OURS, redisson.name()));
    bench.row(
        "the same: Jain's index",
        Target.atLeast(0.95, Unit.COUNT),
        hot.values(Peer.OURS, Figure.FAIRNESS));
    bench.row(
        "the same: requests for a handoff",
        Target.atMost(4, Unit.COUNT),
        hot.values(Peer.OURS, Figure.HANDOFF_REQUESTS));
    bench.hundredThreads(List.of(redisson, SpringRegistry.lock()));
    SharedRows.measure(
        bench, requests, RedissonClients.readers(), RedissonClients.permits(SharedRows.PERMITS));
    bench.starts();
  }

  private static void ownNames(Bench bench, RequestCounter requests, Peer<Locking> redisson)
      throws InterruptedException {
    for (int threads : new int[] {1, 4, 16, 64}) {
      String what = "own names, " + threads + (threads == 1 ? " thread" : " threads");
      Series<String> own =
          bench.pairs(
              what,
              threads,
              number -> "own-" + number,
              requests,
              List.of(Peer.baseline(), Peer.ours(), redisson, SpringRegistry.lock()));
      if (threads == 1) {
        alone(bench, own);
      }
      bench.row(
          what + ": pairs a second, to the bare calls",
          Target.atLeast(
              switch (threads) {
                case 1 -> 0.97;
                case 4 -> 0.95;
                case 16 -> 1.3;
                default -> 1.6;
              },
              Unit.RATIO),
          own.ratios(Figure.PAIRS, Peer.OURS, Peer.BASELINE));
      if (threads == 64) {
        bench.row(
            what + ": pairs a second, to Redisson's",
            Target.atLeast(4, Unit.RATIO),
            own.ratios(Figure.PAIRS, Peer.OURS, redisson.name()));
      }
    }
  }

  private static void alone(Bench bench, Series<String> own) {
    bench.row(
        "uncontended: p50 of a pair, to the bare calls",
        Target.atMost(1.05, Unit.RATIO),
        own.ratios(Figure.PAIR_P50, Peer.OURS, Peer.BASELINE));
    bench.row(
        "uncontended: the client's processor time, to the bare calls",
        Target.atMost(1.05, Unit.RATIO),
        own.ratios(Figure.PROCESSOR, Peer.OURS, Peer.BASELINE));
    bench.row(
        "uncontended: requests for a pair",
        Target.atMost(2, Unit.COUNT),
        own.values(Peer.OURS, Figure.PAIR_REQUESTS));
  }
}
