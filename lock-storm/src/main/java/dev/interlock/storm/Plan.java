package dev.interlock.storm;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;

/**
 * When the nemesis does what: a function of its arguments alone, so that a seed repeats a storm's
 * schedule. What the store and the clients make of it is up to them.
 *
 * <p>There is a lane for the store and one for each process of clients. Blows of one lane follow
 * each other; those of different lanes coincide as it happens. Every so often all lanes pause at
 * once, so that it can be seen whether everybody works again.
 *
 * <p>Blows outside the failure model come in the last part only: what they do lasts, and until then
 * whatever goes wrong is a violation.
 *
 * @param seed what the schedule was made from
 * @param beyondAt when blows outside the failure model begin; after the end if none do
 * @param steps what is done, in the order of time
 */
public record Plan(long seed, Duration beyondAt, List<Step> steps) {

  /** The lane of the store; those of the clients have their numbers, from 0. */
  public static final int STORE = -1;

  private static final int ROUND_MILLIS = 30_000;
  private static final int CALM_MILLIS = 10_000;
  private static final double SHARE_BEYOND = 1 / 3.0;

  /** Makes it unchangeable. */
  public Plan {
    steps = List.copyOf(steps);
  }

  /**
   * Makes a schedule.
   *
   * @param seed decides everything that is left open
   * @param lasting how long it is to take
   * @param available what can be done
   */
  static Plan of(long seed, Duration lasting, Repertoire available) {
    Repertoire repertoire = compatible(seed, available);
    long whole = lasting.toMillis();
    boolean both = repertoire.hasBeyond() && repertoire.hasWithin();
    long beyondAt =
        both ? Math.round(whole * (1 - SHARE_BEYOND)) : repertoire.hasBeyond() ? 0 : whole;
    List<Step> steps = new ArrayList<>();
    for (int lane = STORE; lane < repertoire.clients(); lane++) {
      // A generator for each lane, so that a lane is the same however many there are beside it.
      Random random = new Random(seed * 1_000_003 + lane);
      steps.addAll(lane(random, lane, repertoire.within(lane), 0, beyondAt));
      List<BlowKind> everything = new ArrayList<>(repertoire.within(lane));
      everything.addAll(repertoire.beyond(lane));
      steps.addAll(lane(random, lane, everything, beyondAt, whole));
    }
    steps.sort(Comparator.comparing(Step::at).thenComparing(Step::client));
    return new Plan(seed, Duration.ofMillis(beyondAt), steps);
  }

  /**
   * A store that has lost its counters makes tokens from the time of day, and no failure model
   * covers that it is set back as well: a storm has either the one or the other.
   */
  private static Repertoire compatible(long seed, Repertoire available) {
    boolean both =
        available.store().containsAll(List.of(BlowKind.EMPTY_SERVER, BlowKind.STEP_CLOCK));
    BlowKind unwanted = seed % 2 == 0 ? BlowKind.STEP_CLOCK : BlowKind.EMPTY_SERVER;
    return both ? available.without(unwanted) : available;
  }

  private static List<Step> lane(
      Random random, int lane, List<BlowKind> kinds, long from, long until) {
    List<Step> steps = new ArrayList<>();
    if (kinds.isEmpty()) {
      return steps;
    }
    long at = from + 500 + random.nextInt(1_500);
    while (at < until) {
      BlowKind kind = draw(random, kinds);
      long lasting = lasting(random, kind);
      int choice = random.nextInt(1 << 16);
      if (inCalm(at) || inCalm(at + lasting)) {
        at = calmsEnd(at + lasting) + random.nextInt(1_000);
        continue;
      }
      if (at + lasting > until) {
        break;
      }
      steps.add(new Step(Duration.ofMillis(at), kind, lane, choice, Duration.ofMillis(lasting)));
      at += lasting + 300 + random.nextInt(3_000);
    }
    return steps;
  }

  private static BlowKind draw(Random random, List<BlowKind> kinds) {
    int left = random.nextInt(kinds.stream().mapToInt(BlowKind::weight).sum());
    for (BlowKind kind : kinds) {
      left -= kind.weight();
      if (left < 0) {
        return kind;
      }
    }
    throw new AssertionError("more was drawn than there is");
  }

  /** Short ones more often than long ones. */
  private static long lasting(Random random, BlowKind kind) {
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
