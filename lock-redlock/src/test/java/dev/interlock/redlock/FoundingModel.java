package dev.interlock.redlock;

import dev.interlock.redlock.Admission.Reason;
import dev.interlock.redlock.NodeStatus.Kind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A model of blank nodes, two clients that found a cluster of them, leases, and nodes that are
 * restarted empty, in every order of events. {@link Admission} itself decides the steps of a
 * client; the scripts are repeated here, in a line or two for each.
 *
 * <p>An examination takes time: each node is read at some moment between its beginning and its end,
 * or cannot be reached. The steps of a client are executed in any order, at any later time, or
 * never. A lease is taken in one step, from any majority, and ends at any time. A quarantine ends
 * at any time after the leases that existed when the node was restarted.
 */
final class FoundingModel implements Exploration.Model<FoundingModel.Step> {

  /** The rules of the protocol. Leaving one out makes a broken variant. */
  enum Rule {
    /** A cluster is new only if all nodes are blank. */
    FOUNDED_BY_ALL,
    /** A cluster is new only if all nodes were blank before this examination began. */
    EXAMINED_TWICE,
    /** A cluster is new only if all nodes have the same number of nodes. */
    COUNTED_FIRST,
    /** A node votes only for clients that list its number of nodes. */
    NUMBER_CHECKED,
    /** A node that lost everything waits until what it forgot has ended. */
    QUARANTINE,
    /** The floor of a node that lost everything is the highest of a majority of the others. */
    FLOOR_OF_A_MAJORITY
  }

  enum Happening {
    SEES,
    ENDS_EXAMINATION,
    EXECUTES_STEP,
    RESTARTS_EMPTY,
    IS_ACQUIRED,
    ENDS_LEASE
  }

  /**
   * An event.
   *
   * @param client the number of the client, or -1
   * @param node the number of the node, or -1
   * @param argument the nodes that elect, or the lease that ends
   */
  record Step(Happening what, int client, int node, int argument) {
    @Override
    public String toString() {
      return what
          + (client < 0 ? "" : " client " + client)
          + (node < 0 ? "" : " node " + node)
          + (argument < 0 ? "" : " " + Integer.toBinaryString(argument));
    }
  }

  /**
   * The bounds of an exploration.
   *
   * @param lists how many nodes each client lists, the first of all that there are
   * @param examinations the number of examinations of each client
   * @param founded whether the cluster has been founded before
   * @param restarts the maximum number of restarts
   * @param leases how many leases there are
   * @param longTtl whether quarantines never end
   */
  record Bounds(
      List<Integer> lists,
      List<Integer> examinations,
      boolean founded,
      int restarts,
      int leases,
      boolean longTtl) {}

  // Per node, followed by what is between it and each client.
  private static final int RUN = 0;
  private static final int RECORD = 1;
  private static final int NUMBER = 2;
  private static final int FLOOR = 3;
  private static final int HOLDS = 4;
  private static final int FORGOT = 5;
  private static final int VIEWS = 6;
  private static final int SEEN = 0;
  private static final int SEEN_RUN = 1;
  private static final int SEEN_FLOOR = 2;
  private static final int SEEN_NUMBER = 3;
  private static final int KNOWN = 4;
  private static final int STEP = 5;
  private static final int STEP_FLOOR = 6;
  private static final int VIEW_SIZE = 7;

  private static final int BLANK = 0;
  private static final int PENDING = 1;
  private static final int MEMBER = 2;

  private static final int UNSEEN = 0;
  private static final int SEEN_BLANK = 1;
  private static final int SEEN_WAITING = 2;
  private static final int SEEN_SERVED = 3;
  private static final int SEEN_MEMBER = 4;

  private static final int NOTHING = 0;
  private static final int COUNT = 1;
  private static final int FOUND = 2;
  private static final int CONFINE = 3;
  private static final int ADMIT = 4;

  private static final int NO_LEASE = 0;
  private static final int CERTAIN = 1;
  private static final int OVER = 2;

  /** Marks floors that have jumped. */
  private static final int JUMPED = 50;

  private final Admission admission = new Admission(false);
  private final Bounds bounds;
  private final List<Rule> rules;
  private final int nodes;
  private final int clients;
  private final int nodeSize;
  private final int examinationsAt;
  private final int leasesAt;
  private final int globalsAt;

  FoundingModel(Bounds bounds, List<Rule> rules) {
    this.bounds = bounds;
    this.rules = rules;
    this.clients = bounds.lists().size();
    this.nodes = bounds.lists().stream().mapToInt(each -> each).max().orElseThrow();
    this.nodeSize = VIEWS + clients * VIEW_SIZE;
    this.examinationsAt = nodes * nodeSize;
    this.leasesAt = examinationsAt + clients;
    this.globalsAt = leasesAt + bounds.leases();
  }

  @Override
  public List<byte[]> starts() {
    byte[] start = new byte[globalsAt + 2];
    for (int n = 0; n < nodes && bounds.founded(); n++) {
      start[n * nodeSize + RECORD] = MEMBER;
      start[n * nodeSize + NUMBER] = (byte) nodes;
    }
    return List.of(start);
  }

  /** Nodes that are listed by the same clients are alike, and so are clients with equal lists. */
  @Override
  public long mark(byte[] s) {
    long mark = mark(s, false);
    boolean alike = clients == 2 && bounds.lists().get(0).equals(bounds.lists().get(1));
    return alike ? Math.min(mark, mark(s, true)) : mark;
  }

  private long mark(byte[] s, boolean swapped) {
    long all = 0;
    for (int n = 0; n < nodes; n++) {
      long node = Fingerprints.start();
      for (int list : bounds.lists()) {
        node = node * 31 + (n < list ? 1 : 0);
      }
      node = Fingerprints.add(node, s, n * nodeSize, VIEWS);
      for (int c = 0; c < clients; c++) {
        node = Fingerprints.add(node, s, view(n, swapped ? 1 - c : c, 0), VIEW_SIZE);
      }
      all += Fingerprints.end(node);
    }
    for (int c = 0; c < clients; c++) {
      all = Fingerprints.add(all, s, examinationsAt + (swapped ? 1 - c : c), 1);
    }
    return Fingerprints.end(Fingerprints.add(all, s, leasesAt, s.length - leasesAt));
  }

  // --- events ---------------------------------------------------------------------------------

  @Override
  public List<Step> steps(byte[] s) {
    List<Step> steps = new ArrayList<>();
    for (int c = 0; c < clients; c++) {
      boolean sees = false;
      for (int n = 0; n < bounds.lists().get(c); n++) {
        boolean seen = s[view(n, c, SEEN)] != UNSEEN;
        sees |= seen;
        if (!seen && s[examinationsAt + c] < bounds.examinations().get(c)) {
          steps.add(new Step(Happening.SEES, c, n, -1));
        }
        if (s[view(n, c, STEP)] != NOTHING) {
          steps.add(new Step(Happening.EXECUTES_STEP, c, n, -1));
        }
      }
      if (sees) {
        steps.add(new Step(Happening.ENDS_EXAMINATION, c, -1, 0));
      }
    }
    for (int n = 0; n < nodes; n++) {
      if (s[globalsAt] < bounds.restarts() && s[n * nodeSize + RECORD] != BLANK) {
        steps.add(new Step(Happening.RESTARTS_EMPTY, -1, n, -1));
      }
    }
    for (int l = 0; l < bounds.leases(); l++) {
      if (s[leasesAt + l] == CERTAIN) {
        steps.add(new Step(Happening.ENDS_LEASE, -1, -1, l));
      } else if (s[leasesAt + l] == NO_LEASE) {
        for (int c = 0; c < clients; c++) {
          elections(s, c, steps);
        }
        break; // the leases are alike: they begin in order
      }
    }
    return steps;
  }

  private void elections(byte[] s, int c, List<Step> steps) {
    int list = bounds.lists().get(c);
    for (int electors = 0; electors < 1 << list; electors++) {
      boolean can = Integer.bitCount(electors) == VoteCount.majorityOf(list);
      for (int n = 0; n < list && can; n++) {
        int at = n * nodeSize;
        can =
            (electors & 1 << n) == 0
                || (s[at + RECORD] == MEMBER
                    && s[at + HOLDS] == 0
                    && (s[at + NUMBER] == list || !rules.contains(Rule.NUMBER_CHECKED)));
      }
      if (can) {
        steps.add(new Step(Happening.IS_ACQUIRED, c, -1, electors));
      }
    }
  }

  // --- effects --------------------------------------------------------------------------------

  @Override
  public boolean happen(byte[] s, Step step) {
    int c = step.client();
    int n = step.node();
    switch (step.what()) {
      case SEES -> see(s, c, n);
      case ENDS_EXAMINATION -> endExamination(s, c);
      case EXECUTES_STEP -> {
        return execute(s, c, n);
      }
      case RESTARTS_EMPTY -> {
        int at = n * nodeSize;
        s[at + RUN]++;
        Arrays.fill(s, at + RECORD, at + FORGOT, (byte) 0);
        for (int l = 0; l < bounds.leases(); l++) {
          s[at + FORGOT] |= (byte) (s[leasesAt + l] == CERTAIN ? 1 << l : 0);
        }
        for (int each = 0; each < clients; each++) {
          s[view(n, each, STEP)] = NOTHING; // it was for the former process
        }
        s[globalsAt]++;
      }
      case IS_ACQUIRED -> {
        return elect(s, step.argument());
      }
      case ENDS_LEASE -> {
        int l = step.argument();
        s[leasesAt + l] = OVER;
        for (int each = 0; each < nodes; each++) {
          int at = each * nodeSize;
          s[at + HOLDS] = s[at + HOLDS] == l + 1 ? 0 : s[at + HOLDS];
          s[at + FORGOT] &= (byte) ~(1 << l);
        }
      }
    }
    return true;
  }

  private void see(byte[] s, int c, int n) {
    int at = n * nodeSize;
    s[view(n, c, SEEN)] =
        (byte)
            switch (s[at + RECORD]) {
              case MEMBER -> SEEN_MEMBER;
              case PENDING -> hasServed(s, n) ? SEEN_SERVED : SEEN_WAITING;
              default -> SEEN_BLANK;
            };
    s[view(n, c, SEEN_RUN)] = s[at + RUN];
    s[view(n, c, SEEN_FLOOR)] = s[at + FLOOR];
    s[view(n, c, SEEN_NUMBER)] = s[at + NUMBER];
  }

  private boolean hasServed(byte[] s, int n) {
    return !bounds.longTtl() && (s[n * nodeSize + FORGOT] == 0 || !rules.contains(Rule.QUARANTINE));
  }

  private void endExamination(byte[] s, int c) {
    int list = bounds.lists().get(c);
    List<NodeStatus> statuses = new ArrayList<>();
    Set<String> candidates = new HashSet<>();
    boolean refused = false;
    for (int n = 0; n < list; n++) {
      int number = s[view(n, c, SEEN_NUMBER)];
      refused |= number != 0 && number != list && rules.contains(Rule.NUMBER_CHECKED);
      statuses.add(status(s, c, n));
      if (s[view(n, c, KNOWN)] != 0) {
        candidates.add(run(n, s[view(n, c, KNOWN)] - 1));
      }
    }
    Set<String> newCandidates = Admission.candidates(statuses);
    if (!rules.contains(Rule.EXAMINED_TWICE)) {
      candidates.addAll(newCandidates);
    }
    List<Admission.Step> steps =
        refused
            ? List.of()
            : admission.stepsFor(asSeenByVariant(statuses, candidates), candidates, false);
    for (int n = 0; n < list; n++) {
      boolean isKnown = !refused && newCandidates.contains(statuses.get(n).run());
      int knownRun = s[view(n, c, SEEN_RUN)] + 1;
      Arrays.fill(s, view(n, c, 0), view(n, c, 0) + VIEW_SIZE, (byte) 0);
      s[view(n, c, KNOWN)] = (byte) (isKnown ? knownRun : 0);
    }
    for (Admission.Step step : steps) {
      int n = step.node();
      // A step for a former process is not sent.
      if (statuses.get(n).run().equals(run(n, s[n * nodeSize + RUN]))) {
        boolean admits = step instanceof Admission.Step.Admit;
        s[view(n, c, STEP)] = (byte) kind(step);
        s[view(n, c, STEP_FLOOR)] = (byte) (admits ? small((Admission.Step.Admit) step) : 0);
      }
    }
    s[examinationsAt + c] += (byte) (refused ? 0 : 1);
  }

  private NodeStatus status(byte[] s, int c, int n) {
    Kind kind =
        switch (s[view(n, c, SEEN)]) {
          case SEEN_BLANK -> Kind.BLANK;
          case SEEN_MEMBER -> Kind.MEMBER;
          case SEEN_WAITING, SEEN_SERVED -> Kind.QUARANTINED;
          default -> null;
        };
    if (kind == null) {
      return NodeStatus.UNREACHABLE;
    }
    int floor = s[view(n, c, SEEN_FLOOR)];
    return new NodeStatus(
        kind,
        run(n, s[view(n, c, SEEN_RUN)]),
        floor < JUMPED ? floor : Admission.JUMP + floor - JUMPED,
        s[view(n, c, SEEN)] == SEEN_WAITING ? 1 : 0,
        s[view(n, c, SEEN_NUMBER)] != 0 || !rules.contains(Rule.COUNTED_FIRST));
  }

  /** Creates a broken variant by changing the statuses that the rules get. */
  private List<NodeStatus> asSeenByVariant(List<NodeStatus> statuses, Set<String> candidates) {
    List<NodeStatus> changed = new ArrayList<>(statuses);
    int blank = (int) changed.stream().filter(each -> each.is(Kind.BLANK)).count();
    int silent = (int) changed.stream().filter(each -> each.is(Kind.UNREACHABLE)).count();
    boolean isNew =
        blank >= VoteCount.majorityOf(changed.size()) && blank + silent == changed.size();
    if (isNew && !rules.contains(Rule.FOUNDED_BY_ALL)) {
      changed.replaceAll(
          each -> each.is(Kind.UNREACHABLE) ? new NodeStatus(Kind.BLANK, "silent", 0, 0) : each);
      candidates.add("silent");
    }
    boolean anyMember = changed.stream().anyMatch(each -> each.is(Kind.MEMBER));
    if (anyMember && !rules.contains(Rule.FLOOR_OF_A_MAJORITY)) {
      changed.replaceAll(
          each -> each.is(Kind.UNREACHABLE) ? new NodeStatus(Kind.MEMBER, "silent", 0, 0) : each);
    }
    return changed;
  }

  private static int kind(Admission.Step step) {
    if (step instanceof Admission.Step.Admit admit) {
      return admit.reason() == Reason.NEW_CLUSTER ? FOUND : ADMIT;
    }
    return step instanceof Admission.Step.Count ? COUNT : CONFINE;
  }

  private static long small(Admission.Step.Admit admit) {
    return admit.floor() < Admission.JUMP ? admit.floor() : admit.floor() - Admission.JUMP + JUMPED;
  }

  private boolean execute(byte[] s, int c, int n) {
    int at = n * nodeSize;
    int what = s[view(n, c, STEP)];
    int floor = s[view(n, c, STEP_FLOOR)];
    s[view(n, c, STEP)] = NOTHING;
    s[view(n, c, STEP_FLOOR)] = 0;
    switch (what) {
      case COUNT -> s[at + NUMBER] = s[at + NUMBER] == 0 ? number(c) : s[at + NUMBER];
      case CONFINE -> s[at + RECORD] = s[at + RECORD] == BLANK ? PENDING : s[at + RECORD];
      case FOUND, ADMIT -> {
        if (what == FOUND ? s[at + RECORD] == BLANK : s[at + RECORD] == PENDING) {
          s[at + RECORD] = MEMBER;
          s[at + NUMBER] = number(c);
          s[at + FLOOR] = (byte) Math.max(s[at + FLOOR], floor);
          return s[at + FORGOT] == 0 || !rules.contains(Rule.QUARANTINE);
        }
      }
      default -> throw new IllegalStateException("step " + what);
    }
    return true;
  }

  private byte number(int c) {
    return (byte) (int) bounds.lists().get(c);
  }

  /** A lease begins; false if there is one already, or its token is not above all others. */
  private boolean elect(byte[] s, int electors) {
    int lease = 0;
    boolean alone = true;
    while (s[leasesAt + lease] != NO_LEASE) {
      alone &= s[leasesAt + lease] != CERTAIN;
      lease++;
    }
    int token = 0;
    for (int n = 0; n < nodes; n++) {
      token = Math.max(token, (electors & 1 << n) != 0 ? s[n * nodeSize + FLOOR] + 1 : 0);
    }
    for (int n = 0; n < nodes; n++) {
      if ((electors & 1 << n) != 0) {
        s[n * nodeSize + FLOOR] = (byte) token;
        s[n * nodeSize + HOLDS] = (byte) (lease + 1);
      }
    }
    boolean higher = token > s[globalsAt + 1];
    s[leasesAt + lease] = CERTAIN;
    s[globalsAt + 1] = (byte) token;
    return alone && higher;
  }

  private static String run(int node, int run) {
    return "node " + node + " run " + run;
  }

  private int view(int node, int client, int field) {
    return node * nodeSize + VIEWS + client * VIEW_SIZE + field;
  }
}
