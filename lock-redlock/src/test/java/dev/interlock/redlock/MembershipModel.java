package dev.interlock.redlock;

import dev.interlock.redlock.Admission.Ground;
import dev.interlock.redlock.Standing.Kind;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Four nodes A, B, C and D; a client that lists A, B and C, of which the cluster was founded, and
 * one that lists A, B and D; their looks, roll calls and leases, in every order of events. What a
 * client does about what it has seen is decided by {@link Roll} and {@link Admission} themselves;
 * what the scripts do on a node is told again here.
 *
 * <p>There is no clock. A place on a roll can be taken when all has ended that must have ended by
 * then: the roll calls by which the node was called last, the time for which votes count after
 * these, the admissions that follow from them, and the leases that were had meanwhile. So each
 * place carries a mark of everything that has to end before.
 */
final class MembershipModel implements Exploration.Model<MembershipModel.Step> {

  /** What the protocol insists on; leaving one out is a broken variant. */
  enum Rule {
    /** There are no more nodes on a roll than there are nodes of the cluster. */
    PLACES_LIMITED,
    /** A place is not taken before all leases have ended that may count on its node. */
    PLACES_KEPT,
    /** A client counts only the votes of nodes that it has called, and not for long. */
    VOTES_EXPIRE,
    /** A client counts only the votes of nodes that are on the rolls of a majority. */
    KNOWN_TO_A_MAJORITY,
    /** A node is admitted only if it is on the rolls of a majority. */
    LISTED_BEFORE_ADMITTED,
    /** A node that others do not know does not come back but by way of an admission. */
    NO_WAY_BACK
  }

  enum Happening {
    BEGINS_LOOK,
    CALLS,
    ENDS_LOOK,
    EXECUTES_STEP,
    DROPS_STEPS,
    VOTES_NO_LONGER_COUNT,
    IS_ELECTED,
    RENEWS,
    ENDS_LEASE
  }

  /**
   * One thing that happens.
   *
   * @param who which client or lease
   * @param node which node, or -1
   * @param argument a set of nodes, or the node whose place is taken
   */
  record Step(Happening what, int who, int node, int argument) {
    @Override
    public String toString() {
      return what + " " + who + (node < 0 ? "" : " " + "ABCD".charAt(node)) + " " + argument;
    }
  }

  static final int NODES = 4;
  private static final int LISTED = 3;
  private static final int CLIENTS = 2;
  private static final int LEASES = 2;
  private static final int[][] LISTS = {{0, 1, 2}, {0, 1, 3}};

  // Of each node.
  private static final int VOTES = 0;
  private static final int FLOOR = 1;
  private static final int HOLDS = 2;
  private static final int ROLL = 3;
  private static final int MARKS = 4;
  private static final int NODE_SIZE = MARKS + NODES;

  // Of each client, and of each node that it lists.
  private static final int COUNTED = 0;
  private static final int LOOKS = 1;
  private static final int LOOKING = 2;
  private static final int VIEWS = 3;
  private static final int SEEN = 0;
  private static final int SEEN_FLOOR = 1;
  private static final int CALLED = 2;
  private static final int ITS_ROLL = 3;
  private static final int STEP = 4;
  private static final int STEP_FLOOR = 5;
  private static final int STEP_ROLL = 6;
  private static final int VIEW_SIZE = 7;
  private static final int CLIENT_SIZE = VIEWS + LISTED * VIEW_SIZE;

  private static final int CLIENTS_AT = NODES * NODE_SIZE;
  private static final int LEASES_AT = CLIENTS_AT + CLIENTS * CLIENT_SIZE;
  private static final int TOKEN_AT = LEASES_AT + LEASES;

  // What a place waits for.
  private static final int LOOK = 1;
  private static final int COUNTING = 1 << CLIENTS;
  private static final int LEASE = 1 << (2 * CLIENTS);

  private static final int NOT_SEEN = 0;
  private static final int SEEN_WAITING = 1;
  private static final int SEEN_MEMBER = 2;

  private static final int NOTHING = 0;
  private static final int ADMIT = 1;
  private static final int CONFINE = 2;

  private static final int NO_LEASE = 0;
  private static final int OVER = CLIENTS + 1;

  private final Admission admission = new Admission(false);
  private final List<Rule> rules;
  private final int[] looks;

  /**
   * Makes one.
   *
   * @param looks how often each client looks
   */
  MembershipModel(List<Rule> rules, int... looks) {
    this.rules = rules;
    this.looks = looks;
  }

  @Override
  public byte[] start() {
    byte[] start = new byte[TOKEN_AT + 1];
    for (int n = 0; n < LISTED; n++) {
      start[n * NODE_SIZE + VOTES] = 1;
      start[n * NODE_SIZE + ROLL] = 0b0111;
    }
    return start;
  }

  /** The first two nodes are alike. */
  @Override
  public long mark(byte[] s) {
    byte[] swapped = s.clone();
    swap(swapped, 0, NODE_SIZE, NODE_SIZE);
    for (int n = 0; n < NODES; n++) {
      swap(swapped, n * NODE_SIZE + MARKS, n * NODE_SIZE + MARKS + 1, 1);
      swapped[n * NODE_SIZE + ROLL] = swapBits(swapped[n * NODE_SIZE + ROLL]);
    }
    for (int c = 0; c < CLIENTS; c++) {
      swapped[client(c) + COUNTED] = swapBits(swapped[client(c) + COUNTED]);
      swap(swapped, view(c, 0), view(c, 1), VIEW_SIZE);
      for (int i = 0; i < LISTED; i++) {
        swapped[view(c, i) + ITS_ROLL] = swapBits(swapped[view(c, i) + ITS_ROLL]);
        swapped[view(c, i) + STEP_ROLL] = swapBits(swapped[view(c, i) + STEP_ROLL]);
      }
    }
    return Math.min(Fingerprints.of(s), Fingerprints.of(swapped));
  }

  private static void swap(byte[] s, int one, int other, int length) {
    for (int i = 0; i < length; i++) {
      byte before = s[one + i];
      s[one + i] = s[other + i];
      s[other + i] = before;
    }
  }

  private static byte swapBits(byte nodes) {
    return (byte) ((nodes & ~0b11) | ((nodes & 1) << 1) | ((nodes >> 1) & 1));
  }

  // --- what can happen ------------------------------------------------------------------------

  @Override
  public List<Step> steps(byte[] s) {
    List<Step> steps = new ArrayList<>();
    if (s[LEASES_AT + LEASES - 1] != NO_LEASE) {
      return steps; // all that can go wrong has shown itself
    }
    for (int c = 0; c < CLIENTS; c++) {
      int at = client(c);
      if (s[at + LOOKING] == 0 && s[at + LOOKS] < looks[c] && !hasSteps(s, c)) {
        for (int reached : new int[] {0b111, 0b101}) {
          steps.add(new Step(Happening.BEGINS_LOOK, c, -1, reached));
        }
      }
      for (int i = 0; i < LISTED; i++) {
        int n = LISTS[c][i];
        int view = view(c, i);
        if (s[at + LOOKING] != 0 && s[view + SEEN] != NOT_SEEN && s[view + CALLED] == 0) {
          for (int gone : places(s, c, n)) {
            steps.add(new Step(Happening.CALLS, c, n, gone));
          }
        }
        if (s[view + STEP] != NOTHING) {
          steps.add(new Step(Happening.EXECUTES_STEP, c, n, i));
        }
      }
      if (s[at + LOOKING] != 0) {
        steps.add(new Step(Happening.ENDS_LOOK, c, -1, 0));
      }
      if (hasSteps(s, c)) {
        steps.add(new Step(Happening.DROPS_STEPS, c, -1, 0));
      }
      if (s[at + COUNTED] != 0) {
        steps.add(new Step(Happening.VOTES_NO_LONGER_COUNT, c, -1, 0));
      }
    }
    for (int l = 0; l < LEASES; l++) {
      int holder = s[LEASES_AT + l];
      if (holder == NO_LEASE) {
        for (int c = 0; c < CLIENTS; c++) {
          quorums(s, Happening.IS_ELECTED, c, 0, c, steps);
        }
        break; // the leases are alike: they begin in order
      }
      if (holder != OVER) {
        steps.add(new Step(Happening.ENDS_LEASE, l, -1, 0));
        quorums(s, Happening.RENEWS, l, l + 1, holder - 1, steps);
      }
    }
    return steps;
  }

  private boolean hasSteps(byte[] s, int c) {
    boolean has = false;
    for (int i = 0; i < LISTED; i++) {
      has |= s[view(c, i) + STEP] != NOTHING;
    }
    return has;
  }

  /** Whose place may be taken by what this call lists; -1 if nobody's. */
  private List<Integer> places(byte[] s, int c, int n) {
    int roll = s[n * NODE_SIZE + ROLL];
    boolean wanted = false;
    int listed = 0;
    for (int i = 0; i < LISTED; i++) {
      int other = LISTS[c][i];
      listed |= s[view(c, i) + SEEN] != NOT_SEEN ? 1 << other : 0;
      wanted |= mayEnter(s, c, i) && (roll & 1 << other) == 0;
    }
    List<Integer> free = new ArrayList<>();
    for (int other = 0; other < NODES && wanted; other++) {
      boolean kept = s[n * NODE_SIZE + MARKS + other] != 0 && rules.contains(Rule.PLACES_KEPT);
      if ((roll & 1 << other) != 0 && (listed & 1 << other) == 0 && !kept) {
        free.add(other);
      }
    }
    return free.isEmpty() || Integer.bitCount(roll) < LISTED ? List.of(-1) : free;
  }

  private boolean mayEnter(byte[] s, int c, int i) {
    int seen = s[view(c, i) + SEEN];
    boolean counts = (s[client(c) + COUNTED] & 1 << LISTS[c][i]) != 0;
    return seen == SEEN_WAITING
        || (seen == SEEN_MEMBER && (counts || !rules.contains(Rule.NO_WAY_BACK)));
  }

  private void quorums(byte[] s, Happening what, int who, int held, int c, List<Step> steps) {
    for (int quorum : new int[] {0b011, 0b101, 0b110}) {
      boolean can = true;
      for (int i = 0; i < LISTED; i++) {
        int n = LISTS[c][i];
        can &=
            (quorum & 1 << i) == 0
                || (s[n * NODE_SIZE + VOTES] != 0
                    && s[n * NODE_SIZE + HOLDS] == held
                    && ((s[client(c) + COUNTED] & 1 << n) != 0
                        || !rules.contains(Rule.VOTES_EXPIRE)));
      }
      if (can) {
        steps.add(new Step(what, who, -1, quorum));
      }
    }
  }

  // --- what then is so ------------------------------------------------------------------------

  @Override
  public boolean happen(byte[] s, Step step) {
    int c = step.who();
    switch (step.what()) {
      case BEGINS_LOOK -> beginLook(s, c, step.argument());
      case CALLS -> call(s, c, step.node(), step.argument());
      case ENDS_LOOK -> endLook(s, c);
      case EXECUTES_STEP -> execute(s, c, step.argument());
      case DROPS_STEPS -> {
        for (int i = 0; i < LISTED; i++) {
          clear(s, view(c, i), VIEW_SIZE);
        }
        unmark(s, LOOK << c);
      }
      case VOTES_NO_LONGER_COUNT -> {
        s[client(c) + COUNTED] = 0;
        unmark(s, COUNTING << c);
      }
      case IS_ELECTED -> {
        return elect(s, c, step.argument());
      }
      case RENEWS -> renew(s, step.who(), step.argument());
      case ENDS_LEASE -> {
        s[LEASES_AT + step.who()] = OVER;
        for (int n = 0; n < NODES; n++) {
          int at = n * NODE_SIZE + HOLDS;
          s[at] = s[at] == step.who() + 1 ? 0 : s[at];
        }
        unmark(s, LEASE << step.who());
      }
    }
    return true;
  }

  /** At one moment: what else can happen between the answers is looked at in another model. */
  private void beginLook(byte[] s, int c, int reached) {
    s[client(c) + LOOKING] = 1;
    s[client(c) + LOOKS]++;
    outlast(s, c, (1 << CLIENTS) - 1);
    for (int i = 0; i < LISTED; i++) {
      int at = LISTS[c][i] * NODE_SIZE;
      if ((reached & 1 << i) != 0) {
        s[view(c, i) + SEEN] = (byte) (s[at + VOTES] != 0 ? SEEN_MEMBER : SEEN_WAITING);
        s[view(c, i) + SEEN_FLOOR] = s[at + FLOOR];
      }
    }
  }

  private void call(byte[] s, int c, int n, int gone) {
    int at = n * NODE_SIZE;
    if (gone >= 0) {
      s[at + ROLL] &= (byte) ~(1 << gone);
      s[at + MARKS + gone] = 0;
    }
    for (int i = 0; i < LISTED; i++) {
      int other = LISTS[c][i];
      boolean room =
          Integer.bitCount(s[at + ROLL]) < LISTED || !rules.contains(Rule.PLACES_LIMITED);
      if (s[view(c, i) + SEEN] != NOT_SEEN && ((s[at + ROLL] & 1 << other) != 0 || room)) {
        s[at + ROLL] |= (byte) (1 << other);
        s[at + MARKS + other] |= (byte) (LOOK << c);
      }
    }
    int i = n == 3 ? 2 : n;
    s[view(c, i) + CALLED] = (byte) (s[at + VOTES] != 0 ? 2 : 1);
    s[view(c, i) + ITS_ROLL] = s[at + ROLL];
  }

  private void endLook(byte[] s, int c) {
    List<Roll.@Nullable Reply> replies = new ArrayList<>();
    for (int i = 0; i < LISTED; i++) {
      replies.add(reply(s, c, i));
    }
    Roll roll = new Roll(replies);
    List<Standing> standings = new ArrayList<>();
    Set<String> known = new HashSet<>();
    for (int i = 0; i < LISTED; i++) {
      int seen = s[view(c, i) + SEEN];
      String run = "node " + LISTS[c][i];
      known.add(run);
      boolean listed =
          roll.listing(i) == Standing.Listing.LISTED
              || !rules.contains(Rule.LISTED_BEFORE_ADMITTED);
      standings.add(
          seen == NOT_SEEN
              ? Standing.UNREACHABLE
              : new Standing(
                  seen == SEEN_MEMBER ? Kind.MEMBER : Kind.QUARANTINED,
                  run,
                  s[view(c, i) + SEEN_FLOOR],
                  0,
                  true,
                  listed ? Standing.Listing.LISTED : roll.listing(i)));
    }
    int agreed = 0;
    for (Roll.Line line : roll.agreed(any -> "")) {
      agreed |= 1 << Integer.parseInt(line.id());
    }
    for (int i = 0; i < LISTED; i++) {
      int view = view(c, i);
      boolean voting = s[view + CALLED] == 2;
      if (roll.counted().contains(i) || (voting && !rules.contains(Rule.KNOWN_TO_A_MAJORITY))) {
        s[client(c) + COUNTED] |= (byte) (1 << LISTS[c][i]);
      }
      clear(s, view, VIEW_SIZE);
    }
    mark(s, LOOK << c, COUNTING << c);
    for (Admission.Step step : admission.after(standings, known, false)) {
      int view = view(c, step.node());
      if (step instanceof Admission.Step.Admit admit && admit.ground() == Ground.SERVED) {
        s[view + STEP] = ADMIT;
        s[view + STEP_FLOOR] = (byte) Math.min(admit.floor(), 100);
        s[view + STEP_ROLL] = (byte) agreed;
      } else {
        s[view + STEP] = CONFINE;
      }
    }
    s[client(c) + LOOKING] = 0;
    for (int other = 0; other < CLIENTS; other++) {
      if (s[client(other) + LOOKING] != 0 || hasSteps(s, other)) {
        outlast(s, other, 1 << c);
      }
    }
    if (!hasSteps(s, c)) {
      unmark(s, LOOK << c);
    }
  }

  private Roll.@Nullable Reply reply(byte[] s, int c, int i) {
    int called = s[view(c, i) + CALLED];
    if (called == 0) {
      return null;
    }
    List<Roll.Line> lines = new ArrayList<>();
    for (int other = 0; other < NODES; other++) {
      if ((s[view(c, i) + ITS_ROLL] & 1 << other) != 0) {
        lines.add(new Roll.Line("" + other, 0, ""));
      }
    }
    return new Roll.Reply("" + LISTS[c][i], called == 2, lines);
  }

  private void execute(byte[] s, int c, int i) {
    int n = LISTS[c][i];
    int view = view(c, i);
    int at = n * NODE_SIZE;
    if (s[view + STEP] == CONFINE) {
      s[at + VOTES] = 0;
    } else if (s[at + VOTES] == 0) {
      s[at + VOTES] = 1;
      s[at + FLOOR] = (byte) Math.max(s[at + FLOOR], s[view + STEP_FLOOR]);
      s[at + ROLL] = s[view + STEP_ROLL];
      for (int other = 0; other < NODES; other++) {
        s[at + MARKS + other] = (byte) ((s[at + ROLL] & 1 << other) != 0 ? LOOK << c : 0);
      }
    }
    clear(s, view, VIEW_SIZE);
    if (!hasSteps(s, c)) {
      unmark(s, LOOK << c);
    }
  }

  /** A lease begins; false if there is one already, or its token is not above all others. */
  private boolean elect(byte[] s, int c, int quorum) {
    int lease = 0;
    boolean alone = true;
    while (s[LEASES_AT + lease] != NO_LEASE) {
      alone &= s[LEASES_AT + lease] == OVER;
      lease++;
    }
    s[LEASES_AT + lease] = (byte) (c + 1);
    int token = 0;
    for (int i = 0; i < LISTED; i++) {
      token = Math.max(token, (quorum & 1 << i) != 0 ? s[LISTS[c][i] * NODE_SIZE + FLOOR] + 1 : 0);
    }
    for (int i = 0; i < LISTED; i++) {
      if ((quorum & 1 << i) != 0) {
        s[LISTS[c][i] * NODE_SIZE + FLOOR] = (byte) token;
        s[LISTS[c][i] * NODE_SIZE + HOLDS] = (byte) (lease + 1);
      }
    }
    mark(s, COUNTING << c, LEASE << lease);
    boolean higher = token > s[TOKEN_AT];
    s[TOKEN_AT] = (byte) token;
    return alone && higher;
  }

  /** Nodes that were not asked, or whose votes do not count, let go. */
  private void renew(byte[] s, int lease, int quorum) {
    int c = s[LEASES_AT + lease] - 1;
    for (int n = 0; n < NODES; n++) {
      boolean renewed = false;
      for (int i = 0; i < LISTED; i++) {
        renewed |= LISTS[c][i] == n && (quorum & 1 << i) != 0;
      }
      int at = n * NODE_SIZE + HOLDS;
      s[at] = s[at] == lease + 1 && !renewed ? 0 : s[at];
    }
    unmark(s, LEASE << lease);
    mark(s, COUNTING << c, LEASE << lease);
  }

  /**
   * A place for which votes count during a look is not taken before what follows from that look is
   * void, as this is not longer than votes count, and the place is kept for a longest term more.
   */
  private static void outlast(byte[] s, int look, int clients) {
    mark(s, COUNTING * clients, LOOK << look);
  }

  /** Places that carry one of these marks carry another one from now on. */
  private static void mark(byte[] s, int these, int mark) {
    for (int at = 0; at < NODES * NODE_SIZE; at += NODE_SIZE) {
      for (int other = 0; other < NODES; other++) {
        if ((s[at + MARKS + other] & these) != 0) {
          s[at + MARKS + other] |= (byte) mark;
        }
      }
    }
  }

  private static void unmark(byte[] s, int mark) {
    for (int at = 0; at < NODES * NODE_SIZE; at += NODE_SIZE) {
      for (int other = 0; other < NODES; other++) {
        s[at + MARKS + other] &= (byte) ~mark;
      }
    }
  }

  private static void clear(byte[] s, int from, int length) {
    for (int i = from; i < from + length; i++) {
      s[i] = 0;
    }
  }

  private static int client(int c) {
    return CLIENTS_AT + c * CLIENT_SIZE;
  }

  private static int view(int c, int i) {
    return client(c) + VIEWS + i * VIEW_SIZE;
  }
}
