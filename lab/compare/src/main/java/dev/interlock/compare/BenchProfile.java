package dev.interlock.compare;

import java.time.Duration;

/**
 * The number and length of the rounds of {@code tools/bench peers}.
 *
 * @param plan the number of rounds, and the warm-up
 * @param cycleSlice how long a contender runs cycles in one round
 * @param contentionSlice how long threads contend for one name in one round
 * @param wearCycles the number of cycles after which a name counts as worn
 * @param starts the number of client starts
 */
record BenchProfile(
    Rounds.Plan plan, Duration cycleSlice, Duration contentionSlice, int wearCycles, int starts) {

  /** {@return a profile that measures all backends in about a quarter of an hour} */
  static BenchProfile usual() {
    return new BenchProfile(
        new Rounds.Plan(7, 2, 20_000, Duration.ofSeconds(10)),
        Duration.ofMillis(400),
        Duration.ofSeconds(1),
        3_000,
        5);
  }

  /** {@return a profile of about two minutes, which shows that everything works, not how fast} */
  static BenchProfile quick() {
    return new BenchProfile(
        new Rounds.Plan(2, 1, 0, Duration.ZERO),
        Duration.ofMillis(100),
        Duration.ofMillis(300),
        300,
        1);
  }

  BenchProfile withRounds(int count) {
    Rounds.Plan counted =
        new Rounds.Plan(count, plan.minWarmUps(), plan.minLocks(), plan.maxWarmUp());
    return new BenchProfile(
        counted, cycleSlice, contentionSlice, wearCycles, Math.min(starts, count));
  }
}
