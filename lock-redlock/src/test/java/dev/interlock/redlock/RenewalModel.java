package dev.interlock.redlock;

import dev.interlock.redlock.Vote.Granted;
import dev.interlock.redlock.VoteCount.Outcome;
import dev.interlock.spi.Claim;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A model of a lease on three nodes that is renewed, and restored on a node that lacks it, beside
 * another attempt, in every order of events. {@link Entry} itself decides where a renewal restores,
 * and {@link VoteCount} counts the votes of the attempt; the scripts are repeated here, in a line
 * or two for each.
 *
 * <p>Time is the order in which TTLs end: that of the election, then that of each renewal, counted
 * from when it was sent. The lease is certain until the end of the TTL of the last renewal that a
 * majority has confirmed. A node may drop the lock at any time after the end of the last renewal
 * that it has executed. A renewal may be executed late, while the next ones are under way, or
 * never, and its answer may arrive late or never. The holder goes on renewing after the lease has
 * ended, which no engine does.
 *
 * <p>The holder has token 1, and the lock on the first two nodes, or on all. The other attempt
 * begins at any time, and its lease ends at any time.
 */
final class RenewalModel implements Exploration.Model<RenewalModel.Step> {

  private static final int NODES = 3;
  private static final int MAJORITY = VoteCount.majorityOf(NODES);

  /** The rules of the protocol. Leaving one out makes a broken variant. */
  enum Rule {
    /** The lock is restored on a node only while the lease is certain. */
    RESTORED_ONLY_WHILE_CERTAIN,
    /** A node on which a renewal restores the lock does not count for that renewal. */
    RESTORED_DO_NOT_COUNT,
    /** The lock is restored nowhere while a majority is known to lack it. */
    NOT_IF_A_MAJORITY_LACKS_IT,
    /** A restored node counts as lacking the lock until a majority has renewed. */
    GIVEN_COUNT_AS_LACKING,
    /** A node that has seen a later token does not take the lock back. */
    NOT_BELOW_A_LATER_TOKEN,
    /** A node that lost everything takes over the highest floor of the others. */
    FLOOR_TAKEN_OVER,
    /** A node that lost everything waits until what it forgot has ended. */
    QUARANTINE
  }

  enum Happening {
    ASKS,
    SENDS,
    EXECUTES_RENEW,
    EXECUTES_LATE_RENEW,
    HEARS_OF_RENEW,
    TTL_ENDS,
    RELEASES,
    ALL_KEYS_VANISH,
    OTHER_BEGINS,
    EXECUTES_ACQUIRE,
    HEARS_OF_GRANT,
    EXECUTES_CONFIRM,
    HEARS_OF_CONFIRM,
    OTHER_GIVES_UP,
    EXECUTES_WITHDRAW,
    OTHER_ENDS,
    KEY_VANISHES,
    FENCE_VANISHES,
    RESTARTS_EMPTY,
    IS_ADMITTED
  }

  /** An event that happens, to one node or to none, which is -1. */
  record Step(Happening what, int node) {
    @Override
    public String toString() {
      return what + (node < 0 ? "" : " node " + node);
    }
  }

  /**
   * The bounds of an exploration.
   *
   * @param everywhere whether all nodes have the lock in the beginning
   * @param other whether there is another attempt
   * @param renewals the number of renewals
   * @param late whether a renewal may be carried out after its TTL, or after the next was sent
   * @param forced whether the lock may be deleted on all nodes, once
   * @param lostFences the maximum number of fences that vanish
   * @param restarts the maximum number of restarts
   */
  record Bounds(
      boolean everywhere,
      boolean other,
      int renewals,
      boolean late,
      boolean forced,
      int lostFences,
      int restarts) {}

  private static final int OWNER = 0;
  private static final int SINCE = 1;
  private static final int FENCE = 2;
  private static final int FLOOR = 3;
  private static final int BASE = 4;
  private static final int SILENT = 5;
  private static final int FORGOT = 6;
  private static final int FORGOT_OTHER = 7;
  private static final int MISSING = 8;
  private static final int ASK = 9;
  private static final int LATE = 10;
  private static final int GRANT = 11;
  private static final int LAST = 12;
  private static final int HEARD = 13;
  private static final int CONFIRM = 14;
  private static final int NODE_SIZE = 15;

  private static final int HOLDER = 1;
  private static final int OTHER = 2;

  private static final int UNSENT = 0;
  private static final int PLAIN = 1;
  private static final int RESTORING = 2;
  private static final int RENEWED = 3;
  private static final int RESTORED = 4;
  private static final int GONE = 5;
  private static final int HEARD_OF = 3; // added to the three above
  private static final int UNANSWERED = 9;

  private static final int GLOBALS = NODES * NODE_SIZE;
  private static final int OVER = GLOBALS;
  private static final int ROUND = GLOBALS + 1;
  private static final int ENDED = GLOBALS + 2;
  private static final int CONFIRMED = GLOBALS + 3;
  private static final int FORCED = GLOBALS + 4;
  private static final int LOST_BEFORE = GLOBALS + 5;
  private static final int PHASE = GLOBALS + 6;
  private static final int TOKEN = GLOBALS + 7;
  private static final int HIGHEST = GLOBALS + 8;
  private static final int LOST_FENCES = GLOBALS + 9;
  private static final int RESTARTS = GLOBALS + 10;
  private static final int SIZE = GLOBALS + 11;

  private static final int NEW = 0;
  private static final int RUNNING = 1;
  private static final int HELD = 2;
  private static final int GIVEN_UP = 3;
  private static final int FINISHED = 4;

  private final Bounds bounds;
  private final List<Rule> rules;

  RenewalModel(Bounds bounds, List<Rule> rules) {
    this.bounds = bounds;
    this.rules = rules;
  }

  @Override
  public List<byte[]> starts() {
    byte[] s = new byte[SIZE];
    for (int n = 0; n < NODES; n++) {
      if (n < MAJORITY || bounds.everywhere()) {
        s[at(n, OWNER)] = HOLDER;
        s[at(n, FENCE)] = 1;
        s[at(n, FLOOR)] = 1;
      } else {
        s[at(n, MISSING)] = 1;
      }
    }
    s[HIGHEST] = 1;
    return List.of(s);
  }

  @Override
  public long mark(byte[] s) {
    long nodes = 0;
    for (int n = 0; n < NODES; n++) {
      nodes += Fingerprints.end(Fingerprints.add(Fingerprints.start(), s, at(n, 0), NODE_SIZE));
    }
    return Fingerprints.end(Fingerprints.add(nodes, s, GLOBALS, SIZE - GLOBALS));
  }

  // --- events ---------------------------------------------------------------------------------

  @Override
  public List<Step> steps(byte[] s) {
    List<Step> steps = new ArrayList<>();
    if (s[OVER] == 0 && s[ROUND] < bounds.renewals()) {
      steps.add(new Step(Happening.ASKS, -1));
    }
    if (s[ENDED] <= s[ROUND] && (bounds.late() || !isUnderWay(s))) {
      steps.add(new Step(Happening.TTL_ENDS, -1));
    }
    if (s[OVER] == 0) {
      steps.add(new Step(Happening.RELEASES, -1));
    }
    if (s[FORCED] == 0 && bounds.forced()) {
      steps.add(new Step(Happening.ALL_KEYS_VANISH, -1));
    }
    if (s[PHASE] == NEW && bounds.other()) {
      steps.add(new Step(Happening.OTHER_BEGINS, -1));
    } else if (s[PHASE] == RUNNING) {
      steps.add(new Step(Happening.OTHER_GIVES_UP, -1));
    } else if (s[PHASE] == HELD) {
      steps.add(new Step(Happening.OTHER_ENDS, -1));
    }
    for (int n = 0; n < NODES; n++) {
      ofHolder(s, n, steps);
      ofOther(s, n, steps);
      ofNode(s, n, steps);
    }
    return steps;
  }

  private boolean isUnderWay(byte[] s) {
    for (int n = 0; n < NODES; n++) {
      if (s[at(n, ASK)] == PLAIN || s[at(n, ASK)] == RESTORING) {
        return true;
      }
    }
    return false;
  }

  private void ofHolder(byte[] s, int n, List<Step> steps) {
    int ask = s[at(n, ASK)];
    if (ask == UNSENT && s[ROUND] > 0 && s[OVER] == 0) {
      steps.add(new Step(Happening.SENDS, n));
    } else if (ask == PLAIN || ask == RESTORING) {
      steps.add(new Step(Happening.EXECUTES_RENEW, n));
    } else if (ask >= RENEWED && ask <= GONE && s[OVER] == 0) {
      steps.add(new Step(Happening.HEARS_OF_RENEW, n));
    }
    if (s[at(n, LATE)] != 0) {
      steps.add(new Step(Happening.EXECUTES_LATE_RENEW, n));
    }
  }

  private void ofOther(byte[] s, int n, List<Step> steps) {
    boolean votes = s[at(n, SILENT)] == 0;
    if (s[PHASE] == RUNNING) {
      if (s[at(n, GRANT)] == 0 && votes && s[at(n, OWNER)] == 0) {
        steps.add(new Step(Happening.EXECUTES_ACQUIRE, n));
      }
      if (s[at(n, GRANT)] != 0 && s[at(n, HEARD)] == 0) {
        steps.add(new Step(Happening.HEARS_OF_GRANT, n));
      }
      if (s[at(n, CONFIRM)] == 1 && votes && s[at(n, OWNER)] == OTHER) {
        steps.add(new Step(Happening.EXECUTES_CONFIRM, n));
      }
      if (s[at(n, CONFIRM)] == 2) {
        steps.add(new Step(Happening.HEARS_OF_CONFIRM, n));
      }
    }
    if (s[PHASE] == GIVEN_UP && s[at(n, GRANT)] != 0) {
      steps.add(new Step(Happening.EXECUTES_WITHDRAW, n));
    }
  }

  private void ofNode(byte[] s, int n, List<Step> steps) {
    int owner = s[at(n, OWNER)];
    boolean holders = owner == HOLDER && (s[at(n, SINCE)] < s[ENDED] || s[OVER] == 1);
    boolean others = owner == OTHER && (s[PHASE] == GIVEN_UP || s[PHASE] == FINISHED);
    if (holders || others) {
      steps.add(new Step(Happening.KEY_VANISHES, n));
    }
    if (s[at(n, FENCE)] != 0 && s[LOST_FENCES] < bounds.lostFences()) {
      steps.add(new Step(Happening.FENCE_VANISHES, n));
    }
    boolean all = true;
    for (int each = 0; each < NODES; each++) {
      all &= s[at(each, SILENT)] == 0;
    }
    if (s[RESTARTS] < bounds.restarts() && all) {
      steps.add(new Step(Happening.RESTARTS_EMPTY, n));
    }
    boolean ended =
        s[ENDED] >= s[at(n, FORGOT)]
            && (s[at(n, FORGOT_OTHER)] == 0 || (s[PHASE] != RUNNING && s[PHASE] != HELD));
    if (s[at(n, SILENT)] == 1 && (ended || !rules.contains(Rule.QUARANTINE))) {
      steps.add(new Step(Happening.IS_ADMITTED, n));
    }
  }

  private static boolean isCertain(byte[] s) {
    return s[OVER] == 0 && s[CONFIRMED] >= s[ENDED];
  }

  // --- effects --------------------------------------------------------------------------------

  @Override
  public boolean happen(byte[] s, Step step) {
    boolean sound = happen(s, step, step.node());
    boolean isAnywhere = false;
    for (int n = 0; n < NODES; n++) {
      isAnywhere |= s[at(n, OWNER)] == HOLDER;
    }
    if (s[LOST_BEFORE] == 0 && (!isAnywhere || s[HIGHEST] > 1)) {
      s[LOST_BEFORE] = (byte) (s[ROUND] + 1);
    }
    return sound;
  }

  private boolean happen(byte[] s, Step step, int n) {
    switch (step.what()) {
      case ASKS -> {
        for (int each = 0; each < NODES; each++) {
          int ask = s[at(each, ASK)];
          if (bounds.late() && (ask == PLAIN || ask == RESTORING)) {
            s[at(each, LATE)] = (byte) ask;
          }
          s[at(each, ASK)] = UNSENT;
        }
        s[ROUND]++;
      }
      case SENDS -> s[at(n, ASK)] = (byte) (isToBeRestoredOn(s, n) ? RESTORING : PLAIN);
      case EXECUTES_RENEW -> {
        s[at(n, ASK)] = (byte) renew(s, n, s[at(n, ASK)], s[ROUND]);
        // A lease that has ended takes no node from others, unless the request was late.
        return s[at(n, ASK)] != RESTORED || isCertain(s) || s[OVER] == 1 || bounds.late();
      }
      case EXECUTES_LATE_RENEW -> {
        renew(s, n, s[at(n, LATE)], s[ROUND] - 1);
        s[at(n, LATE)] = 0;
      }
      case HEARS_OF_RENEW -> {
        return hear(s, n);
      }
      case TTL_ENDS -> s[ENDED]++;
      case RELEASES -> end(s);
      case ALL_KEYS_VANISH -> {
        for (int each = 0; each < NODES; each++) {
          s[at(each, OWNER)] = 0;
        }
        s[FORCED] = 1;
      }
      case KEY_VANISHES -> s[at(n, OWNER)] = 0;
      case FENCE_VANISHES -> {
        s[at(n, FENCE)] = 0;
        s[LOST_FENCES]++;
      }
      case RESTARTS_EMPTY -> {
        Arrays.fill(s, at(n, OWNER), at(n, MISSING), (byte) 0);
        s[at(n, SILENT)] = 1;
        s[at(n, FORGOT)] = (byte) (s[ROUND] + 1);
        s[at(n, FORGOT_OTHER)] = (byte) (s[PHASE] == RUNNING || s[PHASE] == HELD ? 1 : 0);
        s[at(n, ASK)] = (byte) (s[at(n, ASK)] == UNSENT ? UNSENT : UNANSWERED);
        s[at(n, LATE)] = 0;
        s[RESTARTS]++;
      }
      case IS_ADMITTED -> {
        s[at(n, SILENT)] = 0;
        s[at(n, FORGOT)] = 0;
        s[at(n, FORGOT_OTHER)] = 0;
        for (int each = 0; each < NODES && rules.contains(Rule.FLOOR_TAKEN_OVER); each++) {
          s[at(n, FLOOR)] = (byte) Math.max(s[at(n, FLOOR)], s[at(each, FLOOR)]);
        }
        s[at(n, BASE)] = s[at(n, FLOOR)];
      }
      default -> {
        return happenToOther(s, step.what(), n);
      }
    }
    return true;
  }

  private boolean isToBeRestoredOn(byte[] s, int node) {
    boolean certain = isCertain(s) || !rules.contains(Rule.RESTORED_ONLY_WHILE_CERTAIN);
    Entry entry =
        Entry.fresh(new Claim("job", "i".repeat(27), TTL, true, "x", System.nanoTime()), NODES);
    boolean others = rules.contains(Rule.NOT_IF_A_MAJORITY_LACKS_IT);
    for (int n = 0; n < NODES; n++) {
      boolean counts = n == node || others;
      if (s[at(n, MISSING)] == 2 && !rules.contains(Rule.GIVEN_COUNT_AS_LACKING)) {
        counts = false;
      }
      entry.setLacking(n, s[at(n, MISSING)] != 0 && counts);
    }
    entry.confirm(certain ? 1 : 0);
    for (int n = 0; n < NODES; n++) {
      if (s[at(n, MISSING)] == 2 && rules.contains(Rule.GIVEN_COUNT_AS_LACKING) && others) {
        entry.setLacking(n, false);
      }
    }
    return entry.isToBeRestoredOn(node, 0);
  }

  private static final Duration TTL = Duration.ofSeconds(30);

  private int renew(byte[] s, int n, int how, int round) {
    if (s[at(n, SILENT)] == 1) {
      return UNANSWERED;
    }
    int fence = s[at(n, FENCE)];
    if (s[at(n, OWNER)] == HOLDER) {
      s[at(n, SINCE)] = (byte) Math.max(s[at(n, SINCE)], round);
      return RENEWED;
    }
    boolean later = fence > 1 && rules.contains(Rule.NOT_BELOW_A_LATER_TOKEN);
    if (s[at(n, OWNER)] != 0 || how == PLAIN || later) {
      return GONE;
    }
    s[at(n, OWNER)] = HOLDER;
    s[at(n, SINCE)] = (byte) round;
    raise(s, n, Math.max(fence == 0 ? s[at(n, FLOOR)] : fence, 1));
    return RESTORED;
  }

  private boolean hear(byte[] s, int n) {
    int what = s[at(n, ASK)];
    int missing = s[at(n, MISSING)];
    s[at(n, ASK)] = (byte) (what + HEARD_OF);
    s[at(n, MISSING)] = (byte) (what == GONE ? 1 : missing == 0 ? 0 : 2);
    int renewed = 0;
    int gone = 0;
    for (int each = 0; each < NODES; each++) {
      int ask = s[at(each, ASK)] - HEARD_OF;
      boolean counts = ask == RENEWED;
      counts |= ask == RESTORED && !rules.contains(Rule.RESTORED_DO_NOT_COUNT);
      renewed += counts ? 1 : 0;
      gone += ask == GONE ? 1 : 0;
    }
    if (gone > NODES - MAJORITY) {
      end(s);
    } else if (renewed >= MAJORITY) {
      boolean anew = s[CONFIRMED] < s[ROUND];
      s[CONFIRMED] = s[ROUND];
      for (int each = 0; each < NODES; each++) {
        s[at(each, MISSING)] = (byte) (s[at(each, MISSING)] == 1 ? 1 : 0);
      }
      // A lost lease does not come back: no claim has the lock, or another one was elected.
      boolean wasLost = s[LOST_BEFORE] != 0 && s[LOST_BEFORE] <= s[ROUND];
      return !anew || (!wasLost && (bounds.forced() || !isCertain(s) || s[PHASE] != HELD));
    }
    return true;
  }

  /** The holder sends nothing more; messages under way may still arrive. */
  private void end(byte[] s) {
    s[OVER] = 1;
    for (int n = 0; n < NODES; n++) {
      int ask = s[at(n, ASK)];
      s[at(n, ASK)] = (byte) (ask == PLAIN || ask == RESTORING ? ask : UNANSWERED);
      s[at(n, MISSING)] = 0;
    }
  }

  // --- the other attempt ------------------------------------------------------------------------

  private boolean happenToOther(byte[] s, Happening what, int n) {
    switch (what) {
      case OTHER_BEGINS -> s[PHASE] = RUNNING;
      case EXECUTES_ACQUIRE -> {
        int fence = s[at(n, FENCE)];
        int next = Math.max((fence == 0 ? s[at(n, FLOOR)] : fence) + 1, s[at(n, BASE)] + 1);
        s[at(n, OWNER)] = OTHER;
        raise(s, n, next);
        s[at(n, GRANT)] = (byte) next;
        s[at(n, LAST)] = (byte) fence;
      }
      case HEARS_OF_GRANT -> {
        s[at(n, HEARD)] = 1;
        return count(s);
      }
      case EXECUTES_CONFIRM -> {
        int fence = s[at(n, FENCE)];
        raise(s, n, Math.max(fence == 0 ? s[at(n, FLOOR)] : fence, s[TOKEN]));
        s[at(n, CONFIRM)] = 2;
      }
      case HEARS_OF_CONFIRM -> {
        s[at(n, CONFIRM)] = 3;
        return count(s);
      }
      case OTHER_GIVES_UP -> {
        s[PHASE] = GIVEN_UP;
        s[TOKEN] = 0;
        for (int each = 0; each < NODES; each++) {
          boolean known = s[at(each, HEARD)] == 1;
          s[at(each, GRANT)] = known ? s[at(each, GRANT)] : 0;
          s[at(each, LAST)] = known ? s[at(each, LAST)] : 0;
          s[at(each, HEARD)] = 0;
          s[at(each, CONFIRM)] = 0;
        }
      }
      case EXECUTES_WITHDRAW -> {
        boolean untouched = s[at(n, OWNER)] == OTHER && s[at(n, FENCE)] == s[at(n, GRANT)];
        if (untouched) {
          s[at(n, FENCE)] = s[at(n, LAST)];
        }
        s[at(n, OWNER)] = s[at(n, OWNER)] == OTHER ? 0 : s[at(n, OWNER)];
        s[at(n, GRANT)] = 0;
        s[at(n, LAST)] = 0;
        // The next elected attempt has to learn the highest token so far.
        int above = 0;
        for (int each = 0; each < NODES; each++) {
          above += s[at(each, FENCE)] >= s[HIGHEST] ? 1 : 0;
        }
        return bounds.restarts() + bounds.lostFences() > 0 || above >= MAJORITY;
      }
      case OTHER_ENDS -> s[PHASE] = FINISHED;
      default -> throw new IllegalStateException(what.name());
    }
    return true;
  }

  /** Counts the answers that an attempt has got. Returns false if it is elected but must not be. */
  private boolean count(byte[] s) {
    VoteCount count = new VoteCount(NODES);
    List<Integer> heard = new ArrayList<>();
    for (int n = 0; n < NODES; n++) {
      if (s[at(n, HEARD)] == 1) {
        heard.add(n);
      }
    }
    // Counted in this order, the votes give the present token again.
    heard.sort((x, y) -> Integer.compare(order(s, x), order(s, y)));
    for (int n : heard) {
      count.vote(n, new Granted(s[at(n, GRANT)], 0));
    }
    s[TOKEN] = (byte) count.token();
    for (int n : count.toConfirm()) {
      if (s[at(n, CONFIRM)] == 3) {
        count.confirm(n);
      } else if (s[at(n, CONFIRM)] == 0) {
        s[at(n, CONFIRM)] = 1;
      }
    }
    if (count.outcome() != Outcome.ACQUIRED) {
      return true;
    }
    boolean higher = s[TOKEN] > s[HIGHEST];
    s[HIGHEST] = s[TOKEN];
    s[PHASE] = HELD;
    s[TOKEN] = 0;
    for (int n = 0; n < NODES; n++) {
      Arrays.fill(s, at(n, GRANT), at(n, NODE_SIZE), (byte) 0);
    }
    // If the holder's lock is deleted, there may be another holder, with a higher token.
    return higher && (!isCertain(s) || s[FORCED] != 0);
  }

  private static int order(byte[] s, int n) {
    return s[at(n, GRANT)] == s[TOKEN] ? -1 : s[at(n, GRANT)];
  }

  private static void raise(byte[] s, int n, int fence) {
    s[at(n, FENCE)] = (byte) fence;
    s[at(n, FLOOR)] = (byte) Math.max(s[at(n, FLOOR)], fence);
  }

  private static int at(int node, int field) {
    return node * NODE_SIZE + field;
  }
}
