package dev.interlock.compare;

import java.time.Duration;

/**
 * How much is measured.
 *
 * @param plan how many rounds there are, and how contenders are warmed up
 * @param pairs how long one contender makes pairs in one round
 * @param contention how long threads contend for one name in one round
 * @param wear how often a name is used before it counts as worn
 * @param starts how often a client is started
 */
record BenchProfile(Rounds.Plan plan, Duration pairs, Duration contention, int wear, int starts) {

  /** All backends in about a quarter of an hour. */
  static BenchProfile usual() {
    return new BenchProfile(
        new Rounds.Plan(7, 2, 20_000, Duration.ofSeconds(10)),
        Duration.ofMillis(400),
        Duration.ofSeconds(1),
        3_000,
        5);
  }

  /** All backends in about two minutes: to see that all is there, not how fast it is. */
  static BenchProfile quick() {
    return new BenchProfile(
        new Rounds.Plan(2, 1, 0, Duration.ZERO),
        Duration.ofMillis(100),
        Duration.ofMillis(300),
        300,
        1);
  }

  BenchProfile withRounds(int count) {
    Rounds.Plan counted = new Rounds.Plan(count, plan.warmUps(), plan.enough(), plan.limit());
    return new BenchProfile(counted, pairs, contention, wear, Math.min(starts, count));
  }
}
