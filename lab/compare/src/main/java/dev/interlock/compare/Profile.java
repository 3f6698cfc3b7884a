package dev.interlock.compare;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The extent of a comparison: the numbers of rounds, threads and leases, and the durations.
 *
 * @param name the name in the report
 * @param ratios whether the rounds are long enough for ratios
 * @param rounds the number of interleaved rounds
 * @param slice the maximum time for one contender in one round
 * @param warmUp the maximum time for warming up one contender
 * @param budget the approximate time for all interleaved rounds together
 * @param faultRounds how often each fault is injected
 * @param threads the numbers of threads that each use a lock of their own
 * @param waiters the numbers of threads of one process that want one lock
 * @param processes the number of processes that want one lock
 * @param waitersPerProcess the number of threads in each of these processes
 * @param roundTrips the delays that are added to the round trip
 * @param leases the numbers of leases that are held at once
 * @param ttl the TTL of leases whose expiry is awaited
 */
record Profile(
    String name,
    boolean ratios,
    int rounds,
    Duration slice,
    Duration warmUp,
    Duration budget,
    int faultRounds,
    List<Integer> threads,
    List<Integer> waiters,
    int processes,
    int waitersPerProcess,
    List<Duration> roundTrips,
    List<Integer> leases,
    Duration ttl) {

  private static final Duration MIN_SLICE = Duration.ofMillis(50);
  private static final int MIN_WARM_UP_ROUNDS = 2;

  /** The usual number of rounds until two in a row agree. */
  private static final int USUAL_WARM_UP_ROUNDS = 3;

  /** {@return a profile of about five minutes} */
  static Profile usual() {
    return new Profile(
        "usual",
        /* ratios= */ true,
        5,
        Duration.ofMillis(500),
        Duration.ofSeconds(2),
        Duration.ofSeconds(105),
        3,
        List.of(1, 10, 100, 1000),
        List.of(1, 10, 100, 1000),
        4,
        10,
        List.of(Duration.ofMillis(1), Duration.ofMillis(5), Duration.ofMillis(20)),
        List.of(1, 1_000, 10_000),
        Duration.ofSeconds(3));
  }

  /** {@return a profile of about two minutes} */
  static Profile quick() {
    return new Profile(
        "quick",
        /* ratios= */ false,
        5,
        Duration.ofMillis(150),
        Duration.ofSeconds(2),
        Duration.ofSeconds(40),
        1,
        List.of(1, 100),
        List.of(1, 100),
        2,
        5,
        List.of(Duration.ofMillis(5)),
        List.of(1, 1_000),
        Duration.ofSeconds(2));
  }

  /** {@return this profile with a slice that keeps to the budget with this number of backends} */
  Profile amongBackends(int backends) {
    long points = 2 + 2L * threads.size() + 2L * waiters.size() + 3 + 2L * roundTrips.size();
    Duration sharedSlice = budget.dividedBy(points * allRounds() * Math.max(1, backends));
    sharedSlice = sharedSlice.compareTo(slice) > 0 ? slice : sharedSlice;
    sharedSlice = sharedSlice.compareTo(MIN_SLICE) < 0 ? MIN_SLICE : sharedSlice;
    return new Profile(
        name,
        ratios,
        rounds,
        sharedSlice,
        warmUp,
        budget,
        faultRounds,
        threads,
        waiters,
        processes,
        waitersPerProcess,
        roundTrips,
        leases,
        ttl);
  }

  /** {@return the fields of the profile in {@code results.json}} */
  Map<String, Object> toJson() {
    Map<String, Object> file = new LinkedHashMap<>();
    file.put("name", name);
    file.put("rounds", rounds);
    file.put("sliceSeconds", slice);
    file.put("faultRounds", faultRounds);
    file.put("ttlSeconds", ttl);
    return file;
  }

  /** {@return a plan by which each contender acquires at least this number of locks to warm up} */
  Rounds.Plan plan(int minLocks) {
    return new Rounds.Plan(rounds, MIN_WARM_UP_ROUNDS, minLocks, warmUp);
  }

  /** {@return the estimated time for the rounds of a number of contenders} */
  Duration roundsOf(int contenders) {
    return slice.multipliedBy(allRounds() * contenders);
  }

  private long allRounds() {
    return (long) USUAL_WARM_UP_ROUNDS + rounds;
  }
}
