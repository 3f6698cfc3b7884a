package dev.interlock.redlock;

import dev.interlock.redlock.Vote.Granted;
import dev.interlock.redlock.VoteCount.Outcome;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A model of three nodes and a few attempts on one lock, in every order of events. What an attempt
 * makes of the votes is decided by {@link VoteCount} itself; the steps of the scripts are repeated
 * here, in a line or two for each.
 *
 * <p>Requests and replies arrive in any order, as late as they like, or never. An attempt may be
 * withdrawn at any moment. A node may lose the fence of the lock, and one node at a time may be
 * restarted with nothing. Keys may vanish at any moment (expiry, a clock that was set, a person),
 * unless it is exclusion that is asked about: then they stay until their attempt has ended.
 *
 * <p>An attempt that was withdrawn withdraws its votes at any later time. Other messages of an
 * attempt that arrive after it was elected or withdrawn are left out: they can only raise fences,
 * which makes tokens higher.
 *
 * <p>The bounds: attempts and faults are few, and fences begin at 0 to 2 on each node. States are
 * told apart by 64 bits of hash; among ten million the chance that two are taken for one is less
 * than one in a hundred thousand.
 */
final class ProtocolModel implements Exploration.Model<ProtocolModel.Step> {

  static final int NODES = 3;
  private static final int MAJORITY = VoteCount.majorityOf(NODES);

  /** The rules of the protocol. Leaving one out makes a broken variant. */
  enum Rule {
    /** The token is written back to the nodes of the majority whose fences are below it. */
    WRITE_BACK,
    /** The attempt is elected when a majority has confirmed the token, not when it was sent. */
    CONFIRMED_BY_MAJORITY,
    /** A grant whose fence is above the token does not count. */
    NO_GRANT_ABOVE_THE_TOKEN,
    /** An attempt that withdraws lowers a fence only if nothing has been granted since. */
    NO_FENCE_OF_OTHERS_LOWERED,
    /** A node that lost everything takes over the highest floor of the others. */
    FLOOR_TAKEN_OVER,
    /** A node that lost everything waits until what it forgot has ended. */
    QUARANTINE
  }

  enum Property {
    /** Tokens are unique, and higher than all that were granted before the attempt began. */
    TOKENS_RISE,
    /** No two attempts hold the lock at once. */
    EXCLUSION
  }

  enum Happening {
    BEGINS,
    EXECUTES_ACQUIRE,
    HEARS_OF_GRANT,
    EXECUTES_CONFIRM,
    HEARS_OF_CONFIRM,
    GIVES_UP,
    EXECUTES_WITHDRAW,
    ENDS,
    KEY_VANISHES,
    FENCE_VANISHES,
    RESTARTS_EMPTY,
    IS_ADMITTED
  }

  /**
   * An event.
   *
   * @param attempt the number of the attempt, or -1
   * @param node the number of the node, or -1
   * @param argument the hint of an attempt that begins
   */
  record Step(Happening what, int attempt, int node, int argument) {
    @Override
    public String toString() {
      return what
          + (attempt < 0 ? "" : " attempt " + attempt)
          + (node < 0 ? "" : " node " + node)
          + (what == Happening.BEGINS ? " hint " + argument : "");
    }
  }

  /**
   * The bounds of an exploration.
   *
   * @param attempts the number of attempts
   * @param hints the clocks that an attempt may go by
   * @param lostFences the maximum number of fences that vanish
   * @param restarts the maximum number of restarts
   * @param firstFence the highest that a node begins with, at most 2
   */
  record Bounds(int attempts, List<Integer> hints, int lostFences, int restarts, int firstFence) {}

  // Per node.
  private static final int OWNER = 0;
  private static final int FENCE = 1;
  private static final int FLOOR = 2;
  private static final int BASE = 3;
  private static final int VOTES = 4;
  private static final int BEFORE = 5;
  private static final int NODE_SIZE = 6;

  // Per attempt, followed by what is between it and each node.
  private static final int PHASE = 0;
  private static final int HINT = 1;
  private static final int TOKEN = 2;
  private static final int SEEN = 3;
  private static final int GRANT = 4;
  private static final int HEARD = 5;
  private static final int CONFIRM = 6;
  private static final int LAST = 7;
  private static final int TALK_SIZE = 4;
  private static final int ATTEMPT_SIZE = 4 + NODES * TALK_SIZE;

  private static final int NEW = 0;
  private static final int RUNNING = 1;
  private static final int HELD = 2;
  private static final int OVER = 3;

  private final Property property;
  private final Bounds bounds;
  private final List<Rule> rules;
  private final int attemptsAt = NODES * NODE_SIZE;
  private final int globalsAt;

  ProtocolModel(Property property, Bounds bounds, List<Rule> rules) {
    this.property = property;
    this.bounds = bounds;
    this.rules = rules;
    this.globalsAt = attemptsAt + bounds.attempts() * ATTEMPT_SIZE;
  }

  @Override
  public List<byte[]> starts() {
    List<byte[]> starts = new ArrayList<>();
    for (int first = 0; first < 27; first++) {
      int[] fences = {first % 3, first / 3 % 3, first / 9};
      // Nodes are alike: one order of the first fences stands for all.
      boolean ordered = fences[0] >= fences[1] && fences[1] >= fences[2];
      if (ordered && fences[0] <= bounds.firstFence()) {
        byte[] start = new byte[globalsAt + 3];
        for (int n = 0; n < NODES; n++) {
          start[at(n, FENCE)] = (byte) fences[n];
          start[at(n, FLOOR)] = (byte) fences[n];
          start[at(n, VOTES)] = 1;
        }
        starts.add(start);
      }
    }
    return starts;
  }

  /** Returns the first fence of a node. */
  static int firstFence(List<Byte> start, int node) {
    return start.get(at(node, FENCE));
  }

  /** The way to a violation can be replayed only if the order of the nodes counts. */
  @Override
  public long mark(byte[] state) {
    return rules.size() < Rule.values().length ? Fingerprints.of(state) : markInAnyOrder(state);
  }

  /** Returns a hash that does not depend on the order of the nodes. */
  private long markInAnyOrder(byte[] s) {
    long nodes = 0;
    for (int n = 0; n < NODES; n++) {
      long node = Fingerprints.start();
      node = Fingerprints.add(node, s, at(n, 0), NODE_SIZE);
      for (int a = 0; a < bounds.attempts(); a++) {
        node = Fingerprints.add(node, s, of(a, n, GRANT), TALK_SIZE);
      }
      nodes += Fingerprints.end(node);
    }
    long mark = Fingerprints.add(nodes, s, globalsAt, s.length - globalsAt);
    for (int a = 0; a < bounds.attempts(); a++) {
      mark = Fingerprints.add(mark, s, of(a, PHASE), GRANT);
    }
    return Fingerprints.end(mark);
  }

  // --- events ---------------------------------------------------------------------------------

  @Override
  public List<Step> steps(byte[] s) {
    List<Step> steps = new ArrayList<>();
    for (int a = 0; a < bounds.attempts(); a++) {
      int phase = s[of(a, PHASE)];
      if (phase == NEW) {
        for (int hint : bounds.hints()) {
          steps.add(new Step(Happening.BEGINS, a, -1, hint));
        }
        break; // the attempts are alike: they begin in order
      }
      if (phase == RUNNING) {
        steps.add(new Step(Happening.GIVES_UP, a, -1, 0));
        for (int n = 0; n < NODES; n++) {
          if (s[of(a, n, GRANT)] == 0 && s[at(n, VOTES)] == 1 && s[at(n, OWNER)] == 0) {
            steps.add(new Step(Happening.EXECUTES_ACQUIRE, a, n, 0));
          }
          if (s[of(a, n, GRANT)] != 0 && s[of(a, n, HEARD)] == 0) {
            steps.add(new Step(Happening.HEARS_OF_GRANT, a, n, 0));
          }
          if (s[of(a, n, CONFIRM)] == 1 && s[at(n, VOTES)] == 1 && s[at(n, OWNER)] == a + 1) {
            steps.add(new Step(Happening.EXECUTES_CONFIRM, a, n, 0));
          }
          if (s[of(a, n, CONFIRM)] == 2) {
            steps.add(new Step(Happening.HEARS_OF_CONFIRM, a, n, 0));
          }
        }
      }
      if (phase == OVER) {
        for (int n = 0; n < NODES; n++) {
          if (s[of(a, n, GRANT)] != 0) {
            steps.add(new Step(Happening.EXECUTES_WITHDRAW, a, n, 0));
          }
        }
      }
      if (phase == HELD && property == Property.EXCLUSION) {
        steps.add(new Step(Happening.ENDS, a, -1, 0));
      }
    }
    for (int n = 0; n < NODES; n++) {
      int owner = s[at(n, OWNER)];
      if (owner != 0 && (property == Property.TOKENS_RISE || s[of(owner - 1, PHASE)] == OVER)) {
        steps.add(new Step(Happening.KEY_VANISHES, -1, n, 0));
      }
      if (s[at(n, FENCE)] != 0 && s[globalsAt + 1] < bounds.lostFences()) {
        steps.add(new Step(Happening.FENCE_VANISHES, -1, n, 0));
      }
      if (s[globalsAt + 2] < bounds.restarts() && voters(s) == NODES) {
        steps.add(new Step(Happening.RESTARTS_EMPTY, -1, n, 0));
      }
      if (s[at(n, VOTES)] == 0 && mayBeAdmitted(s, n)) {
        steps.add(new Step(Happening.IS_ADMITTED, -1, n, 0));
      }
    }
    return steps;
  }

  private int voters(byte[] s) {
    int voters = 0;
    for (int n = 0; n < NODES; n++) {
      voters += s[at(n, VOTES)];
    }
    return voters;
  }

  /** Whether every attempt that may have counted on what the node forgot has ended, or goes on. */
  private boolean mayBeAdmitted(byte[] s, int node) {
    if (!rules.contains(Rule.QUARANTINE)) {
      return true;
    }
    for (int a = 0; a < bounds.attempts(); a++) {
      if ((s[at(node, BEFORE)] & 1 << a) != 0 && s[of(a, PHASE)] != OVER && !isRenewed(s, a)) {
        return false;
      }
    }
    return true;
  }

  /** Held, and kept by a majority that votes: renewed there since. */
  private boolean isRenewed(byte[] s, int a) {
    if (property == Property.TOKENS_RISE) {
      return s[of(a, PHASE)] == HELD;
    }
    int keepers = 0;
    for (int n = 0; n < NODES; n++) {
      keepers += s[at(n, VOTES)] == 1 && s[at(n, OWNER)] == a + 1 ? 1 : 0;
    }
    return s[of(a, PHASE)] == HELD && keepers >= MAJORITY;
  }

  // --- effects --------------------------------------------------------------------------------

  @Override
  public boolean happen(byte[] s, Step step) {
    boolean sound = apply(s, step);
    forgetIdleWithdrawals(s);
    return sound;
  }

  /** Lets it happen; false if the property does not hold any more. */
  private boolean apply(byte[] s, Step step) {
    int a = step.attempt();
    int n = step.node();
    switch (step.what()) {
      case BEGINS -> {
        s[of(a, PHASE)] = RUNNING;
        s[of(a, HINT)] = (byte) step.argument();
        s[of(a, SEEN)] = s[globalsAt];
      }
      case EXECUTES_ACQUIRE -> {
        int fence = s[at(n, FENCE)];
        int next = fence == 0 ? s[at(n, FLOOR)] + 1 : fence + 1;
        next = Math.max(Math.max(next, s[of(a, HINT)]), s[at(n, BASE)] + 1);
        s[at(n, OWNER)] = (byte) (a + 1);
        raise(s, n, next);
        s[of(a, n, GRANT)] = (byte) next;
        s[of(a, n, LAST)] = (byte) fence;
      }
      case HEARS_OF_GRANT -> {
        s[of(a, n, HEARD)] = 1;
        return count(s, a);
      }
      case EXECUTES_CONFIRM -> {
        int fence = s[at(n, FENCE)];
        raise(s, n, Math.max(fence == 0 ? s[at(n, FLOOR)] : fence, s[of(a, TOKEN)]));
        s[of(a, n, CONFIRM)] = 2;
      }
      case HEARS_OF_CONFIRM -> {
        s[of(a, n, CONFIRM)] = 3;
        return count(s, a);
      }
      case GIVES_UP -> {
        for (int field : List.of(HINT, TOKEN, SEEN)) {
          s[of(a, field)] = 0;
        }
        for (int node = 0; node < NODES; node++) {
          if (s[of(a, node, HEARD)] == 0) {
            s[of(a, node, GRANT)] = 0;
            s[of(a, node, LAST)] = 0;
          }
          s[of(a, node, HEARD)] = 0;
          s[of(a, node, CONFIRM)] = 0;
        }
        s[of(a, PHASE)] = OVER;
      }
      case EXECUTES_WITHDRAW -> {
        boolean untouched = s[at(n, OWNER)] == a + 1 && s[at(n, FENCE)] == s[of(a, n, GRANT)];
        if (untouched || !rules.contains(Rule.NO_FENCE_OF_OTHERS_LOWERED)) {
          s[at(n, FENCE)] = s[of(a, n, LAST)];
        }
        if (s[at(n, OWNER)] == a + 1) {
          s[at(n, OWNER)] = 0;
        }
        s[of(a, n, GRANT)] = 0;
        s[of(a, n, LAST)] = 0;
        // The next elected attempt has to learn the highest token so far.
        return bounds.restarts() > 0 || nodesAtOrAbove(s, s[globalsAt]) >= MAJORITY;
      }
      case ENDS -> {
        forgetTalk(s, a);
        s[of(a, PHASE)] = OVER;
      }
      case KEY_VANISHES -> s[at(n, OWNER)] = 0;
      case FENCE_VANISHES -> {
        s[at(n, FENCE)] = 0;
        s[globalsAt + 1]++;
      }
      case RESTARTS_EMPTY -> {
        Arrays.fill(s, at(n, 0), at(n, 0) + NODE_SIZE, (byte) 0);
        for (int other = 0; other < bounds.attempts(); other++) {
          int phase = s[of(other, PHASE)];
          s[at(n, BEFORE)] |= (byte) (phase == RUNNING || phase == HELD ? 1 << other : 0);
        }
        s[globalsAt + 2]++;
      }
      case IS_ADMITTED -> {
        s[at(n, VOTES)] = 1;
        s[at(n, BEFORE)] = 0;
        if (rules.contains(Rule.FLOOR_TAKEN_OVER)) {
          for (int other = 0; other < NODES; other++) {
            s[at(n, FLOOR)] = (byte) Math.max(s[at(n, FLOOR)], s[at(other, FLOOR)]);
          }
          s[at(n, BASE)] = s[at(n, FLOOR)];
        }
      }
    }
    return true;
  }

  private static int nodesAtOrAbove(byte[] s, int token) {
    int nodes = 0;
    for (int n = 0; n < NODES; n++) {
      int fence = s[at(n, FENCE)];
      nodes += (fence == 0 ? s[at(n, FLOOR)] : fence) >= token ? 1 : 0;
    }
    return nodes;
  }

  /** A vote that can no longer be taken back, as the lock has gone on, need not be remembered. */
  private void forgetIdleWithdrawals(byte[] s) {
    if (rules.contains(Rule.NO_FENCE_OF_OTHERS_LOWERED)) {
      for (int a = 0; a < bounds.attempts(); a++) {
        for (int n = 0; n < NODES; n++) {
          if (s[of(a, PHASE)] == OVER
              && (s[at(n, OWNER)] != a + 1 || s[at(n, FENCE)] != s[of(a, n, GRANT)])) {
            s[of(a, n, GRANT)] = 0;
            s[of(a, n, LAST)] = 0;
          }
        }
      }
    }
  }

  private void raise(byte[] s, int n, int fence) {
    s[at(n, FENCE)] = (byte) fence;
    s[at(n, FLOOR)] = (byte) Math.max(s[at(n, FLOOR)], fence);
  }

  /** Counts the answers that an attempt has got. Returns false if it is elected but must not be. */
  private boolean count(byte[] s, int a) {
    VoteCount count = new VoteCount(NODES);
    for (int n : heard(s, a)) {
      count.vote(n, new Granted(s[of(a, n, GRANT)], 0));
    }
    s[of(a, TOKEN)] = (byte) count.token();
    for (int n : count.toConfirm()) {
      if (s[of(a, n, CONFIRM)] == 3) {
        count.confirm(n);
      } else if (s[of(a, n, CONFIRM)] == 0 && rules.contains(Rule.WRITE_BACK)) {
        s[of(a, n, CONFIRM)] = 1;
      }
    }
    boolean waits = rules.contains(Rule.WRITE_BACK) && rules.contains(Rule.CONFIRMED_BY_MAJORITY);
    boolean elected = waits ? count.outcome() == Outcome.ACQUIRED : count.token() != 0;
    if (!rules.contains(Rule.NO_GRANT_ABOVE_THE_TOKEN)) {
      elected = count.token() != 0 && atOrAboveToken(s, a) >= MAJORITY;
    }
    return !elected || s[of(a, PHASE)] != RUNNING || isRightlyElected(s, a);
  }

  private int atOrAboveToken(byte[] s, int a) {
    int nodes = 0;
    for (int n : heard(s, a)) {
      nodes += s[of(a, n, GRANT)] >= s[of(a, TOKEN)] || s[of(a, n, CONFIRM)] == 3 ? 1 : 0;
    }
    return nodes;
  }

  /**
   * The nodes whose votes have arrived. Counted in this order, they give the present token again.
   */
  private List<Integer> heard(byte[] s, int a) {
    List<Integer> heard = new ArrayList<>();
    for (int n = 0; n < NODES; n++) {
      if (s[of(a, n, HEARD)] == 1) {
        heard.add(n);
      }
    }
    int token = s[of(a, TOKEN)];
    heard.sort((x, y) -> Integer.compare(order(s, a, x, token), order(s, a, y, token)));
    return heard;
  }

  private int order(byte[] s, int a, int n, int token) {
    int fence = s[of(a, n, GRANT)];
    return fence == token ? -1 : fence;
  }

  private boolean isRightlyElected(byte[] s, int a) {
    int token = s[of(a, TOKEN)];
    boolean right = property != Property.TOKENS_RISE || token > s[of(a, SEEN)];
    for (int other = 0; other < bounds.attempts(); other++) {
      if (other != a && s[of(other, PHASE)] == HELD) {
        right &=
            property == Property.TOKENS_RISE
                ? s[of(other, TOKEN)] != token
                : s[of(other, PHASE)] != HELD;
      }
    }
    forgetTalk(s, a);
    s[of(a, PHASE)] = HELD;
    s[of(a, TOKEN)] = (byte) token;
    s[globalsAt] = (byte) Math.max(s[globalsAt], token);
    return right;
  }

  /** Removes messages that do not matter any more, so that equivalent states become equal. */
  private void forgetTalk(byte[] s, int a) {
    Arrays.fill(s, of(a, 0), of(a, 0) + ATTEMPT_SIZE, (byte) 0);
  }

  private static int at(int node, int field) {
    return node * NODE_SIZE + field;
  }

  private int of(int attempt, int field) {
    return attemptsAt + attempt * ATTEMPT_SIZE + field;
  }

  private int of(int attempt, int node, int field) {
    return of(attempt, field) + node * TALK_SIZE;
  }
}
