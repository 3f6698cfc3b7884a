package dev.interlock.compare;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How much is measured, and for how long.
 *
 * @param name as the report calls it
 * @param ratios whether its rounds are long enough to divide one by another
 * @param rounds how many interleaved rounds there are
 * @param slice how long one contender is measured in one round, at most
 * @param warmUp how long one contender warms up before its rounds, at most
 * @param budget about how long all interleaved rounds together may take
 * @param faultRounds how many times each fault happens
 * @param threads how many threads work at once, each on its own lock
 * @param waiters how many threads of one process want one lock
 * @param processes how many processes want one lock
 * @param waitersPerProcess with how many threads each
 * @param roundTrips what is added to the network's round trip
 * @param leases how many leases are held at once
 * @param ttl the TTL of leases whose end is waited for
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

  /** About how many rounds it takes until two in a row agree. */
  private static final int USUAL_WARM_UP_ROUNDS = 3;

  /** A whole comparison in about five minutes. */
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

  /** A whole comparison in about two minutes. */
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

  /** Divides the time for interleaved rounds among the backends. */
  Profile amongBackends(int backends) {
    long points = 2 + 2L * threads.size() + 2L * waiters.size() + 3 + 2L * roundTrips.size();
    Duration share = budget.dividedBy(points * allRounds() * Math.max(1, backends));
    share = share.compareTo(slice) > 0 ? slice : share;
    share = share.compareTo(MIN_SLICE) < 0 ? MIN_SLICE : share;
    return new Profile(
        name,
        ratios,
        rounds,
        share,
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

  /** Its fields in {@code results.json}. */
  Map<String, Object> inFile() {
    Map<String, Object> file = new LinkedHashMap<>();
    file.put("name", name);
    file.put("rounds", rounds);
    file.put("sliceSeconds", slice);
    file.put("faultRounds", faultRounds);
    file.put("ttlSeconds", ttl);
    return file;
  }

  /** {@return the rounds of contenders that warm up until each has acquired enough locks} */
  Rounds.Plan plan(int enough) {
    return new Rounds.Plan(rounds, MIN_WARM_UP_ROUNDS, enough, warmUp);
  }

  /** About how long the rounds take for a number of contenders. */
  Duration roundsOf(int contenders) {
    return slice.multipliedBy(allRounds() * contenders);
  }

  private long allRounds() {
    return (long) USUAL_WARM_UP_ROUNDS + rounds;
  }
}
