package dev.interlock.bench.peers;

import dev.interlock.report.Unit;
import dev.interlock.testbed.RedisServer;
import java.util.List;

/** What the targets ask of one Redis server. */
final class RedisRows {
  private RedisRows() {}

  static void measure(Bench bench) throws InterruptedException {
    RequestCounter requests = new RedisRequests((RedisServer) bench.deployment());
    Entrant<WaitingContender> redisson = RedissonClients.lock();
    ownNames(bench, requests, redisson);
    Series hot =
        bench.contest(5, 2, requests, List.of(Entrant.ours(), redisson, SpringRegistry.lock()));
    bench.row(
        "one name, 10 threads over 5 clients: p50 of a handoff, to Redisson's",
        Target.atMost(0.5, Unit.RATIO),
        hot.ratio(Figure.HAND_OVER_P50, Entrant.OURS, redisson.name()));
    bench.row(
        "the same: Jain's index",
        Target.atLeast(0.95, Unit.COUNT),
        hot.spread(Entrant.OURS, Figure.FAIRNESS));
    bench.row(
        "the same: requests for a handoff",
        Target.atMost(4, Unit.COUNT),
        hot.spread(Entrant.OURS, Figure.HAND_OVER_REQUESTS));
    bench.hundredThreads(List.of(redisson, SpringRegistry.lock()));
    bench.starts();
  }

  private static void ownNames(
      Bench bench, RequestCounter requests, Entrant<WaitingContender> redisson)
      throws InterruptedException {
    for (int threads : new int[] {1, 4, 16, 64}) {
      String what = "own names, " + threads + (threads == 1 ? " thread" : " threads");
      Series own =
          bench.pairs(
              what,
              threads,
              number -> "own-" + number,
              requests,
              List.of(Entrant.floor(), Entrant.ours(), redisson, SpringRegistry.lock()));
      if (threads == 1) {
        alone(bench, own);
      }
      bench.row(
          what + ": pairs a second, to the bare calls",
          Target.atLeast(threads < 16 ? 0.95 : threads == 16 ? 1.3 : 2, Unit.RATIO),
          own.ratio(Figure.PAIRS, Entrant.OURS, Entrant.FLOOR));
      if (threads == 64) {
        bench.row(
            what + ": pairs a second, to Redisson's",
            Target.atLeast(4, Unit.RATIO),
            own.ratio(Figure.PAIRS, Entrant.OURS, redisson.name()));
      }
    }
  }

  private static void alone(Bench bench, Series own) {
    bench.row(
        "uncontended: p50 of a pair, to the bare calls",
        Target.atMost(1.15, Unit.RATIO),
        own.ratio(Figure.PAIR_P50, Entrant.OURS, Entrant.FLOOR));
    bench.row(
        "uncontended: the client's processor time, to the bare calls",
        Target.atMost(1.5, Unit.RATIO),
        own.ratio(Figure.PROCESSOR, Entrant.OURS, Entrant.FLOOR));
    bench.row(
        "uncontended: requests for a pair",
        Target.atMost(2, Unit.COUNT),
        own.spread(Entrant.OURS, Figure.PAIR_REQUESTS));
  }
}
