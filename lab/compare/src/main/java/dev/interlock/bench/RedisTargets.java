package dev.interlock.bench;

import static dev.interlock.bench.Competitor.BASELINE;
import static dev.interlock.bench.Competitor.OURS;
import static dev.interlock.bench.Competitor.baseline;
import static dev.interlock.bench.Competitor.ours;
import static dev.interlock.bench.Target.atLeast;
import static dev.interlock.bench.Target.atMost;
import static dev.interlock.compare.rounds.Figure.FAIRNESS;
import static dev.interlock.compare.rounds.Figure.HANDOFF_P50;
import static dev.interlock.compare.rounds.Figure.HANDOFF_REQUESTS;
import static dev.interlock.compare.rounds.Figure.PAIRS;
import static dev.interlock.compare.rounds.Figure.PAIR_P50;
import static dev.interlock.compare.rounds.Figure.PAIR_REQUESTS;
import static dev.interlock.compare.rounds.Figure.PROCESSOR;
import static dev.interlock.report.Unit.COUNT;

import dev.interlock.compare.rounds.Locking;
import dev.interlock.compare.rounds.RequestCounter;
import dev.interlock.compare.rounds.Series;
import dev.interlock.testbed.redis.RedisServer;
import java.util.List;

/** The targets for one Redis server. */
final class RedisTargets {
  private RedisTargets() {}

  static void measure(Bench bench) throws InterruptedException {
    RequestCounter requests = new RedisRequests((RedisServer) bench.deployment());
    Competitor<Locking> redisson = OtherLocks.rLock();
    ownNames(bench, requests, redisson);
    Series<String> hot =
        bench.contention(5, 2, requests, List.of(ours(), redisson, OtherLocks.springRegistry()));
    bench.row(
        "one name, 10 threads over 5 clients: p50 of a handoff, to Redisson's",
        atMost(0.5),
        hot.ratios(HANDOFF_P50, OURS, redisson.name()));
    bench.row("the same: Jain's index", atLeast(0.95, COUNT), hot.values(OURS, FAIRNESS));
    bench.row(
        "the same: requests for a handoff", atMost(4, COUNT), hot.values(OURS, HANDOFF_REQUESTS));
    bench.hundredThreads(List.of(redisson, OtherLocks.springRegistry()));
    SharedTargets.measure(
        bench, requests, OtherLocks.rReaders(), OtherLocks.rPermits(SharedTargets.PERMITS));
    bench.starts();
  }

  private static void ownNames(Bench bench, RequestCounter requests, Competitor<Locking> redisson)
      throws InterruptedException {
    for (int threads : new int[] {1, 4, 16, 64}) {
      String what = "own names, " + threads + (threads == 1 ? " thread" : " threads");
      Series<String> own =
          bench.pairs(
              what,
              1,
              threads,
              number -> "own-" + number,
              requests,
              List.of(baseline(), ours(), redisson, OtherLocks.springRegistry()));
      if (threads == 1) {
        alone(bench, own);
      }
      bench.row(
          what + ": pairs a second, to the bare calls",
          atLeast(
              switch (threads) {
                case 1 -> 0.97;
                case 4 -> 0.95;
                case 16 -> 1.3;
                default -> 1.6;
              }),
          own.ratios(PAIRS, OURS, BASELINE));
      if (threads == 64) {
        bench.row(
            what + ": pairs a second, to Redisson's",
            atLeast(4),
            own.ratios(PAIRS, OURS, redisson.name()));
      }
    }
  }

  private static void alone(Bench bench, Series<String> own) {
    bench.row(
        "uncontended: p50 of a pair, to the bare calls",
        atMost(1.05),
        own.ratios(PAIR_P50, OURS, BASELINE));
    bench.row(
        "uncontended: the client's processor time, to the bare calls",
        atMost(1.05),
        own.ratios(PROCESSOR, OURS, BASELINE));
    bench.row(
        "uncontended: requests for a pair", atMost(2, COUNT), own.values(OURS, PAIR_REQUESTS));
  }
}
