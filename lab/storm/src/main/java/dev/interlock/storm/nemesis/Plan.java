package dev.interlock.storm.nemesis;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;

/**
 * When the nemesis does what: a function of its arguments alone, so that a seed repeats a storm's
 * schedule. How the store and the clients react is not repeated.
 *
 * <p>There is a lane for the store and one for each process of clients. Faults of one lane follow
 * each other; those of different lanes are independent. At regular intervals all lanes pause at
 * once, to show whether every client works again.
 *
 * <p>Faults outside the failure model come in the last part only, as their effects last. Until then
 * every overlap is a violation.
 *
 * @param seed what the schedule was made from
 * @param beyondAt when faults outside the failure model begin; after the end if none do
 * @param faults the faults, in order of time
 */
public record Plan(long seed, Duration beyondAt, List<PlannedFault> faults) {

  /** The lane of the store; those of the clients have their numbers, from 0. */
  public static final int STORE = -1;

  private static final int ROUND_MILLIS = 30_000;
  private static final int CALM_MILLIS = 10_000;
  private static final double SHARE_BEYOND = 1 / 3.0;

  /** Makes it unchangeable. */
  public Plan {
    faults = List.copyOf(faults);
  }

  /**
   * Makes a schedule.
   *
   * @param seed decides everything that is left open
   * @param lasting how long it is to take
   * @param available what can be done
   */
  static Plan of(long seed, Duration lasting, PossibleFaults available) {
    PossibleFaults catalog = compatible(seed, available);
    long whole = lasting.toMillis();
    boolean both = catalog.hasBeyond() && catalog.hasWithin();
    long beyondAt = both ? Math.round(whole * (1 - SHARE_BEYOND)) : catalog.hasBeyond() ? 0 : whole;
    List<PlannedFault> faults = new ArrayList<>();
    for (int lane = STORE; lane < catalog.clients(); lane++) {
      // A generator for each lane, so that a lane is the same however many there are beside it.
      Random random = new Random(seed * 1_000_003 + lane);
      faults.addAll(lane(random, lane, catalog.within(lane), 0, beyondAt));
      List<FaultKind> everything = new ArrayList<>(catalog.within(lane));
      everything.addAll(catalog.beyond(lane));
      faults.addAll(lane(random, lane, everything, beyondAt, whole));
    }
    faults.sort(Comparator.comparing(PlannedFault::at).thenComparing(PlannedFault::client));
    return new Plan(seed, Duration.ofMillis(beyondAt), faults);
  }

  /**
   * A store that has lost its counters makes tokens from the time of day, and no failure model
   * covers that it is set back as well: a storm has either the one or the other.
   */
  private static PossibleFaults compatible(long seed, PossibleFaults available) {
    boolean both =
        available.store().containsAll(List.of(FaultKind.EMPTY_SERVER, FaultKind.STEP_CLOCK));
    FaultKind unwanted = seed % 2 == 0 ? FaultKind.STEP_CLOCK : FaultKind.EMPTY_SERVER;
    return both ? available.without(unwanted) : available;
  }

  private static List<PlannedFault> lane(
      Random random, int lane, List<FaultKind> kinds, long from, long until) {
    List<PlannedFault> faults = new ArrayList<>();
    if (kinds.isEmpty()) {
      return faults;
    }
    long at = from + 500 + random.nextInt(1_500);
    while (at < until) {
      FaultKind kind = draw(random, kinds);
      long lasting = lasting(random, kind);
      int choice = random.nextInt(1 << 16);
      if (inCalm(at) || inCalm(at + lasting)) {
        at = calmsEnd(at + lasting) + random.nextInt(1_000);
        continue;
      }
      if (at + lasting > until) {
        break;
      }
      faults.add(
          new PlannedFault(Duration.ofMillis(at), kind, lane, choice, Duration.ofMillis(lasting)));
      at += lasting + 300 + random.nextInt(3_000);
    }
    return faults;
  }

  private static FaultKind draw(Random random, List<FaultKind> kinds) {
    int left = random.nextInt(kinds.stream().mapToInt(FaultKind::weight).sum());
    for (FaultKind kind : kinds) {
      left -= kind.weight();
      if (left < 0) {
        return kind;
      }
    }
    throw new AssertionError("more was drawn than there is");
  }

  /** Short ones more often than long ones. */
  private static long lasting(Random random, FaultKind kind) {
    double share = Math.pow(random.nextDouble(), 2);
    long span = kind.longest().minus(kind.shortest()).toMillis();
    return kind.shortest().toMillis() + Math.round(share * span);
  }

  private static boolean inCalm(long millis) {
    return millis % ROUND_MILLIS > ROUND_MILLIS - CALM_MILLIS;
  }

  private static long calmsEnd(long millis) {
    return (millis / ROUND_MILLIS + 1) * ROUND_MILLIS;
  }
}
