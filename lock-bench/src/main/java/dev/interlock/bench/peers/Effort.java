package dev.interlock.bench.peers;

import java.time.Duration;

/**
 * How much is measured.
 *
 * @param rounds how many rounds count
 * @param warmUps how many rounds before them do not, at least
 * @param warm how often an entrant has to have had a lock before its rounds count: compilers of
 *     virtual machines optimize what has run often, and code that few have warmed looks slow
 * @param warmUpLimit how long an entrant is warmed up for that at most
 * @param pairs how long one entrant makes pairs in one round
 * @param contest how long threads contend for one name in one round
 * @param wear how often a name is used before it counts as worn
 * @param starts how often a client is started
 */
record Effort(
    int rounds,
    int warmUps,
    int warm,
    Duration warmUpLimit,
    Duration pairs,
    Duration contest,
    int wear,
    int starts) {

  /** All backends in about a quarter of an hour. */
  static Effort usual() {
    return new Effort(
        7,
        2,
        20_000,
        Duration.ofSeconds(10),
        Duration.ofMillis(400),
        Duration.ofSeconds(1),
        3_000,
        5);
  }

  /** All backends in about two minutes: to see that all is there, not how fast it is. */
  static Effort quick() {
    return new Effort(
        2, 1, 0, Duration.ZERO, Duration.ofMillis(100), Duration.ofMillis(300), 300, 1);
  }

  Effort withRounds(int count) {
    return new Effort(
        count, warmUps, warm, warmUpLimit, pairs, contest, wear, Math.min(starts, count));
  }
}
