package dev.interlock.storm.nemesis;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;

/**
 * The schedule of the nemesis. It depends only on the arguments of {@link #of}, so a seed repeats
 * it; how the store and the clients react is not repeated.
 *
 * <p>There is one lane for the store and one for each client. Faults of one lane follow each other;
 * those of different lanes are independent. At regular intervals all lanes pause at once, to show
 * whether every client works again.
 *
 * <p>Faults outside the failure model come only in the last part, because their effects last. Until
 * then every overlap is a violation.
 *
 * @param seed the seed of the schedule
 * @param beyondAt when faults outside the failure model begin; after the end if none do
 * @param faults the faults, in order of time
 */
public record Plan(long seed, Duration beyondAt, List<PlannedFault> faults) {

  /** The lane of the store; the lanes of the clients are numbered from 0. */
  public static final int STORE = -1;

  private static final int ROUND_MILLIS = 30_000;
  private static final int QUIET_MILLIS = 10_000;
  private static final double SHARE_BEYOND = 1 / 3.0;

  /** Copies the faults. */
  public Plan {
    faults = List.copyOf(faults);
  }

  /**
   * Creates a schedule.
   *
   * @param seed determines all random choices
   * @param duration the duration of the storm
   * @param available the possible faults
   */
  static Plan of(long seed, Duration duration, PossibleFaults available) {
    PossibleFaults faultsToPlan = compatible(seed, available);
    long totalMillis = duration.toMillis();
    boolean hasBoth = faultsToPlan.hasBeyond() && faultsToPlan.hasWithin();
    long beyondAt =
        hasBoth
            ? Math.round(totalMillis * (1 - SHARE_BEYOND))
            : faultsToPlan.hasBeyond() ? 0 : totalMillis;
    List<PlannedFault> faults = new ArrayList<>();
    for (int lane = STORE; lane < faultsToPlan.clients(); lane++) {
      // Each lane has its own generator, so that it does not depend on the number of lanes.
      Random random = new Random(seed * 1_000_003 + lane);
      faults.addAll(planLane(random, lane, faultsToPlan.within(lane), 0, beyondAt));
      List<FaultKind> everything = new ArrayList<>(faultsToPlan.within(lane));
      everything.addAll(faultsToPlan.beyond(lane));
      faults.addAll(planLane(random, lane, everything, beyondAt, totalMillis));
    }
    faults.sort(Comparator.comparing(PlannedFault::at).thenComparing(PlannedFault::client));
    return new Plan(seed, Duration.ofMillis(beyondAt), faults);
  }

  /**
   * Excludes either emptied servers or stepped clocks. A store that has lost its counters makes
   * tokens from the time of day, and no failure model covers a clock that is also set back.
   */
  private static PossibleFaults compatible(long seed, PossibleFaults available) {
    boolean hasBoth =
        available.store().containsAll(List.of(FaultKind.EMPTY_SERVER, FaultKind.STEP_CLOCK));
    FaultKind excluded = seed % 2 == 0 ? FaultKind.STEP_CLOCK : FaultKind.EMPTY_SERVER;
    return hasBoth ? available.without(excluded) : available;
  }

  private static List<PlannedFault> planLane(
      Random random, int lane, List<FaultKind> kinds, long from, long until) {
    List<PlannedFault> faults = new ArrayList<>();
    if (kinds.isEmpty()) {
      return faults;
    }
    long at = from + 500 + random.nextInt(1_500);
    while (at < until) {
      FaultKind kind = draw(random, kinds);
      long duration = drawDuration(random, kind);
      int choice = random.nextInt(1 << 16);
      if (isQuiet(at) || isQuiet(at + duration)) {
        at = nextRound(at + duration) + random.nextInt(1_000);
        continue;
      }
      if (at + duration > until) {
        break;
      }
      faults.add(
          new PlannedFault(Duration.ofMillis(at), kind, lane, choice, Duration.ofMillis(duration)));
      at += duration + 300 + random.nextInt(3_000);
    }
    return faults;
  }

  private static FaultKind draw(Random random, List<FaultKind> kinds) {
    int remainingWeight = random.nextInt(kinds.stream().mapToInt(FaultKind::weight).sum());
    for (FaultKind kind : kinds) {
      remainingWeight -= kind.weight();
      if (remainingWeight < 0) {
        return kind;
      }
    }
    throw new AssertionError("the draw exceeds the sum of the weights");
  }

  /** Draws a duration, more often a short one than a long one. */
  private static long drawDuration(Random random, FaultKind kind) {
    double share = Math.pow(random.nextDouble(), 2);
    long span = kind.maxDuration().minus(kind.minDuration()).toMillis();
    return kind.minDuration().toMillis() + Math.round(share * span);
  }

  private static boolean isQuiet(long millis) {
    return millis % ROUND_MILLIS > ROUND_MILLIS - QUIET_MILLIS;
  }

  private static long nextRound(long millis) {
    return (millis / ROUND_MILLIS + 1) * ROUND_MILLIS;
  }
}
