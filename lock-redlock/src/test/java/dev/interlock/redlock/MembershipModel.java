package dev.interlock.redlock;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A model of nodes A, B, C and D, a client that lists A, B and C, which founded the cluster, and a
 * client that lists A, B and D: their examinations and leases, in every order of events. {@link
 * Listings} itself draws the conclusions from listings.
 *
 * <p>An examination takes no time here. A lease is taken in one step, from any majority. The
 * listing of a client is forgotten only when the client has been idle for a {@code maxTtl}, so that
 * its leases have ended; it then examines all nodes before it takes another lease. Tokens are not
 * modelled: they may go back if C is used again after D.
 */
final class MembershipModel implements Exploration.Model<MembershipModel.Step> {

  /** The rules of the protocol. Leaving one out makes a broken variant. */
  enum Rule {
    /** Clients send the nodes their listings. */
    NOTED,
    /** The nodes keep listings for as long as the clients are in use. */
    KEPT,
    /** No node is admitted while others list another one. */
    ADMITTED_IF_UNDISPUTED,
    /** A node is admitted only by a client that reaches a majority of the members. */
    MAJORITY_OF_MEMBERS,
    /** A client that rejoins the cluster examines it first. */
    EXAMINES_FIRST
  }

  enum Happening {
    EXAMINES,
    COMES_BACK,
    GOES_IDLE,
    IS_FORGOTTEN,
    IS_ACQUIRED,
    ENDS_LEASE
  }

  /**
   * An event.
   *
   * @param who the number of the client or lease
   * @param nodes a set of nodes
   */
  record Step(Happening what, int who, int nodes) {
    @Override
    public String toString() {
      return what + " " + who + " " + Integer.toBinaryString(nodes);
    }
  }

  private static final int NODES = 4;
  private static final int LEASES = 3;
  private static final int[][] LISTS = {{0, 1, 2}, {0, 1, 3}};

  // Of each node: the nodes that it has listings of, and the lease that it holds the lock for.
  private static final int ROLL = 0;
  private static final int HOLDS = 4;
  private static final int MEMBERS = 8;
  private static final int IN_USE = 9;
  private static final int HOLDERS = 11;
  private static final int SIZE = HOLDERS + LEASES;

  private static final int NO_LEASE = 0;
  private static final int OVER = 3;

  private final List<Rule> rules;

  MembershipModel(List<Rule> rules) {
    this.rules = rules;
  }

  @Override
  public List<byte[]> starts() {
    byte[] start = new byte[SIZE];
    start[MEMBERS] = 0b0111;
    return List.of(start);
  }

  @Override
  public long mark(byte[] s) {
    return Fingerprints.of(s);
  }

  @Override
  public List<Step> steps(byte[] s) {
    List<Step> steps = new ArrayList<>();
    for (int c = 0; c < LISTS.length; c++) {
      if (s[IN_USE + c] == 0) {
        steps.add(new Step(Happening.COMES_BACK, c, listed(c)));
        if (!hasLease(s, c)) {
          steps.add(new Step(Happening.IS_FORGOTTEN, c, 0));
        }
      } else {
        steps.add(new Step(Happening.GOES_IDLE, c, 0));
        for (int reached = 1; reached < 1 << NODES; reached++) {
          if ((reached & ~listed(c)) == 0) {
            steps.add(new Step(Happening.EXAMINES, c, reached));
          }
        }
      }
    }
    for (int l = 0; l < LEASES; l++) {
      if (s[HOLDERS + l] == NO_LEASE) {
        for (int c = 0; c < LISTS.length; c++) {
          for (int quorum = 0; quorum < 1 << NODES; quorum++) {
            if (canElect(s, c, quorum)) {
              steps.add(new Step(Happening.IS_ACQUIRED, c, quorum));
            }
          }
        }
        break; // the leases are alike: they begin in order
      }
      if (s[HOLDERS + l] != OVER) {
        steps.add(new Step(Happening.ENDS_LEASE, l, 0));
      }
    }
    return steps;
  }

  private static int listed(int c) {
    int listed = 0;
    for (int node : LISTS[c]) {
      listed |= 1 << node;
    }
    return listed;
  }

  private static boolean hasLease(byte[] s, int c) {
    boolean has = false;
    for (int l = 0; l < LEASES; l++) {
      has |= s[HOLDERS + l] == c + 1;
    }
    return has;
  }

  private static boolean canElect(byte[] s, int c, int quorum) {
    boolean can =
        s[IN_USE + c] != 0
            && Integer.bitCount(quorum) == 2
            && (quorum & ~(listed(c) & s[MEMBERS])) == 0;
    for (int n = 0; n < NODES; n++) {
      can &= (quorum & 1 << n) == 0 || s[HOLDS + n] == 0;
    }
    return can;
  }

  @Override
  public boolean happen(byte[] s, Step step) {
    int c = step.who();
    switch (step.what()) {
      case EXAMINES -> examine(s, c, step.nodes());
      case COMES_BACK -> {
        if (!isRefused(s, c)) {
          s[IN_USE + c] = 1;
          record(s, c, step.nodes());
        }
      }
      case GOES_IDLE -> s[IN_USE + c] = 0;
      case IS_FORGOTTEN -> forget(s, c);
      case IS_ACQUIRED -> {
        return elect(s, c, step.nodes());
      }
      case ENDS_LEASE -> {
        s[HOLDERS + step.who()] = OVER;
        for (int n = 0; n < NODES; n++) {
          s[HOLDS + n] = s[HOLDS + n] == step.who() + 1 ? 0 : s[HOLDS + n];
        }
      }
    }
    return true;
  }

  /** C and D have been there for long: neither can be taken for the other, started anew. */
  private static Listings listings(byte[] s, int c, int reached) {
    List<String> addresses = new ArrayList<>();
    List<Listings.@Nullable Reply> replies = new ArrayList<>();
    for (int node : LISTS[c]) {
      addresses.add("" + node);
      List<Listings.Listing> lines = new ArrayList<>();
      for (int other = 0; other < NODES; other++) {
        if ((s[ROLL + node] & 1 << other) != 0) {
          lines.add(new Listings.Listing("" + other, 0, "" + other));
        }
      }
      replies.add((reached & 1 << node) == 0 ? null : new Listings.Reply("" + node, 9_000, lines));
    }
    return new Listings(addresses, replies, 1_000);
  }

  private boolean isRefused(byte[] s, int c) {
    return rules.contains(Rule.EXAMINES_FIRST) && listings(s, c, listed(c)).unlisted().isPresent();
  }

  private void examine(byte[] s, int c, int reached) {
    int members = Integer.bitCount(reached & s[MEMBERS]);
    boolean undisputed =
        listings(s, c, reached).conflictFor(2).isEmpty()
            || !rules.contains(Rule.ADMITTED_IF_UNDISPUTED);
    int last = LISTS[c][2];
    if ((reached & ~s[MEMBERS] & 1 << last) != 0
        && undisputed
        && (members >= 2 || !rules.contains(Rule.MAJORITY_OF_MEMBERS))) {
      s[MEMBERS] |= (byte) (1 << last);
    }
    record(s, c, reached);
  }

  private void record(byte[] s, int c, int reached) {
    for (int node : LISTS[c]) {
      if ((reached & 1 << node) != 0 && rules.contains(Rule.NOTED)) {
        s[ROLL + node] |= (byte) (reached & s[MEMBERS]);
      }
    }
    if (!rules.contains(Rule.KEPT)) {
      forget(s, c);
    }
  }

  /** Returns the nodes that only this client lists. */
  private static void forget(byte[] s, int c) {
    for (int n = 0; n < NODES; n++) {
      s[ROLL + n] &= (byte) ~(1 << LISTS[c][2]);
    }
  }

  /** A lease begins; false if there is one already. */
  private static boolean elect(byte[] s, int c, int quorum) {
    int lease = 0;
    boolean alone = true;
    while (s[HOLDERS + lease] != NO_LEASE) {
      alone &= s[HOLDERS + lease] == OVER;
      lease++;
    }
    s[HOLDERS + lease] = (byte) (c + 1);
    for (int n = 0; n < NODES; n++) {
      if ((quorum & 1 << n) != 0) {
        s[HOLDS + n] = (byte) (lease + 1);
      }
    }
    return alone;
  }
}
