package dev.interlock.redlock;

import dev.interlock.redlock.Vote.Granted;
import dev.interlock.redlock.VoteCount.Outcome;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A model of attempts of readers and writers on three nodes, in every order of events. {@link
 * VoteCount} itself counts the votes of an attempt; the scripts are repeated here, in a line or two
 * for each.
 *
 * <p>An attempt begins at any time. Until it is elected, it may ask the nodes once more, or
 * withdraw. Its lease ends at any time. Its requests to a node stay in order, and answers may come
 * late or never.
 */
final class ShareModel implements Exploration.Model<ShareModel.Step> {

  private static final int NODES = 3;
  private static final int MAJORITY = VoteCount.majorityOf(NODES);

  /** The rules of the protocol. Leaving one out makes a broken variant. */
  enum Rule {
    /** A node confirms a token for one claim only. */
    CONFIRMED_FOR_ONE,
    /** A node votes for a writer beside nobody, and for a reader beside no writer. */
    ROOM,
    /** An attempt that is known to have had a majority of the votes does not lower a fence. */
    NO_FENCE_OF_OTHERS_LOWERED
  }

  enum Happening {
    BEGINS,
    EXECUTES_ACQUIRE,
    HEARS_OF_GRANT,
    EXECUTES_CONFIRM,
    HEARS_OF_CONFIRM,
    ASKS_AGAIN,
    GIVES_UP,
    ENDS,
    EXECUTES_RELEASE
  }

  /** An event that happens to a claim, on one node or on none, which is -1. */
  record Step(Happening what, int claim, int node) {}

  private static final int HOLDS = 0;
  private static final int SCORE = 1;
  private static final int GRANT = 2;
  private static final int BEFORE = 3;
  private static final int HEARD = 4;
  private static final int CONFIRM = 5;
  private static final int CLAIM_SIZE = 6;

  private static final int PHASE = 0;
  private static final int TOKEN = 1;
  private static final int ABOVE = 2;
  private static final int AGAIN = 3;
  private static final int GLOBAL_SIZE = 4;

  private static final int NEW = 0;
  private static final int RUNNING = 1;
  private static final int HELD = 2;
  private static final int GIVEN_UP = 3;
  private static final int ENDED = 4;

  private static final int SENT = 1;
  private static final int CONFIRMED = 2;
  private static final int PASSED = 3;
  private static final int GONE = 4;
  private static final int HEARD_OF = 3; // added to the three above

  private final String sides;
  private final int repeaters;
  private final List<Rule> rules;
  private final int nodeSize;
  private final int globals;

  /**
   * Creates a model.
   *
   * @param sides one letter for each claim: R for a reader, W for a writer
   * @param repeaters the number of claims that may ask the nodes once more
   */
  ShareModel(String sides, int repeaters, List<Rule> rules) {
    this.sides = sides;
    this.repeaters = repeaters;
    this.rules = rules;
    this.nodeSize = 1 + sides.length() * CLAIM_SIZE;
    this.globals = NODES * nodeSize;
  }

  @Override
  public List<byte[]> starts() {
    return List.of(new byte[globals + sides.length() * GLOBAL_SIZE]);
  }

  @Override
  public long mark(byte[] s) {
    long nodes = 0;
    for (int n = 0; n < NODES; n++) {
      nodes += Fingerprints.end(Fingerprints.add(Fingerprints.start(), s, n * nodeSize, nodeSize));
    }
    return Fingerprints.end(Fingerprints.add(nodes, s, globals, s.length - globals));
  }

  private int fence(int node) {
    return node * nodeSize;
  }

  private int at(int claim, int node, int field) {
    return node * nodeSize + 1 + claim * CLAIM_SIZE + field;
  }

  private int of(int claim, int field) {
    return globals + claim * GLOBAL_SIZE + field;
  }

  private boolean isWriter(int claim) {
    return sides.charAt(claim) == 'W';
  }

  // --- events ----------------------------------------------------------------------------------

  @Override
  public List<Step> steps(byte[] s) {
    List<Step> steps = new ArrayList<>();
    for (int c = 0; c < sides.length(); c++) {
      int phase = s[of(c, PHASE)];
      if (phase == NEW) {
        steps.add(new Step(Happening.BEGINS, c, -1));
      } else if (phase == RUNNING) {
        steps.add(new Step(Happening.GIVES_UP, c, -1));
        if (c < repeaters && s[of(c, AGAIN)] == 0 && s[of(c, TOKEN)] != 0) {
          steps.add(new Step(Happening.ASKS_AGAIN, c, -1));
        }
      } else if (phase == HELD) {
        steps.add(new Step(Happening.ENDS, c, -1));
      }
      for (int n = 0; n < NODES; n++) {
        ofNode(s, c, n, steps);
      }
    }
    return steps;
  }

  private void ofNode(byte[] s, int c, int n, List<Step> steps) {
    int phase = s[of(c, PHASE)];
    if (phase == RUNNING && s[at(c, n, GRANT)] == 0 && hasRoom(s, c, n)) {
      steps.add(new Step(Happening.EXECUTES_ACQUIRE, c, n));
    }
    if (phase == RUNNING && s[at(c, n, GRANT)] != 0 && s[at(c, n, HEARD)] == 0) {
      steps.add(new Step(Happening.HEARS_OF_GRANT, c, n));
    }
    if (s[at(c, n, CONFIRM)] == SENT) {
      steps.add(new Step(Happening.EXECUTES_CONFIRM, c, n));
    }
    int confirm = s[at(c, n, CONFIRM)];
    if (phase == RUNNING && confirm >= CONFIRMED && confirm <= GONE) {
      steps.add(new Step(Happening.HEARS_OF_CONFIRM, c, n));
    }
    if ((phase == GIVEN_UP || phase == ENDED) && s[at(c, n, HOLDS)] == 1 && confirm != SENT) {
      steps.add(new Step(Happening.EXECUTES_RELEASE, c, n));
    }
  }

  private boolean hasRoom(byte[] s, int claim, int n) {
    boolean room = true;
    for (int c = 0; c < sides.length(); c++) {
      boolean beside = c != claim && s[at(c, n, HOLDS)] == 1;
      room &= !beside || (!isWriter(c) && !isWriter(claim));
    }
    return room || !rules.contains(Rule.ROOM);
  }

  // --- effects ---------------------------------------------------------------------------------

  @Override
  public boolean happen(byte[] s, Step step) {
    int c = step.claim();
    int n = step.node();
    switch (step.what()) {
      case BEGINS -> {
        s[of(c, PHASE)] = RUNNING;
        for (int other = 0; other < sides.length(); other++) {
          if (s[of(other, PHASE)] == HELD || s[of(other, PHASE)] == ENDED) {
            s[of(c, ABOVE)] = (byte) Math.max(s[of(c, ABOVE)], s[of(other, TOKEN)]);
          }
        }
      }
      case EXECUTES_ACQUIRE -> {
        s[at(c, n, BEFORE)] = s[fence(n)];
        s[fence(n)]++;
        s[at(c, n, GRANT)] = s[fence(n)];
        s[at(c, n, SCORE)] = s[fence(n)];
        s[at(c, n, HOLDS)] = 1;
      }
      case HEARS_OF_GRANT -> {
        s[at(c, n, HEARD)] = 1;
        return count(s, c);
      }
      case EXECUTES_CONFIRM -> {
        int answer = confirm(s, c, n);
        boolean listens = s[of(c, PHASE)] == RUNNING;
        s[at(c, n, CONFIRM)] = (byte) (listens ? answer : 0);
        s[at(c, n, SCORE)] = listens ? s[at(c, n, SCORE)] : 0;
      }
      case HEARS_OF_CONFIRM -> {
        s[at(c, n, CONFIRM)] = (byte) (s[at(c, n, CONFIRM)] + HEARD_OF);
        return count(s, c);
      }
      case ASKS_AGAIN -> {
        s[of(c, AGAIN)] = 1;
        s[of(c, TOKEN)] = 0;
        for (int each = 0; each < NODES; each++) {
          Arrays.fill(s, at(c, each, GRANT), at(c, each, CLAIM_SIZE), (byte) 0);
        }
      }
      case GIVES_UP -> {
        s[of(c, PHASE)] = GIVEN_UP;
        s[of(c, ABOVE)] = 0;
      }
      case ENDS -> s[of(c, PHASE)] = ENDED;
      case EXECUTES_RELEASE -> {
        s[at(c, n, HOLDS)] = 0;
        if (s[of(c, PHASE)] == GIVEN_UP && s[of(c, AGAIN)] == 0 && s[at(c, n, HEARD)] == 1) {
          takeBack(s, c, n);
        }
        boolean over = true;
        for (int each = 0; each < NODES; each++) {
          over &= s[at(c, each, HOLDS)] == 0;
        }
        for (int each = 0; each < NODES && over; each++) {
          Arrays.fill(s, at(c, each, HOLDS), at(c, each, CLAIM_SIZE), (byte) 0);
        }
        if (over && s[of(c, PHASE)] == GIVEN_UP) {
          s[of(c, TOKEN)] = 0;
        }
      }
    }
    return true;
  }

  private void takeBack(byte[] s, int c, int n) {
    int known = 0;
    for (int each = 0; each < NODES; each++) {
      known += s[at(c, each, HEARD)];
    }
    boolean untouched = s[fence(n)] == s[at(c, n, GRANT)];
    if (known < MAJORITY && (untouched || !rules.contains(Rule.NO_FENCE_OF_OTHERS_LOWERED))) {
      s[fence(n)] = s[at(c, n, BEFORE)];
    }
  }

  private int confirm(byte[] s, int c, int n) {
    int token = s[of(c, TOKEN)];
    if (s[at(c, n, HOLDS)] == 0) {
      return GONE;
    }
    if (s[fence(n)] >= token && rules.contains(Rule.CONFIRMED_FOR_ONE)) {
      return s[at(c, n, SCORE)] == token ? CONFIRMED : PASSED;
    }
    s[at(c, n, SCORE)] = (byte) token;
    s[fence(n)] = (byte) Math.max(s[fence(n)], token);
    return CONFIRMED;
  }

  /** Counts the answers that an attempt has got. Returns false if it is elected but must not be. */
  private boolean count(byte[] s, int c) {
    VoteCount count = new VoteCount(NODES);
    List<Integer> heard = new ArrayList<>();
    for (int n = 0; n < NODES; n++) {
      if (s[at(c, n, HEARD)] == 1) {
        heard.add(n);
      }
    }
    // Counted in this order, the votes give the present token again.
    heard.sort((x, y) -> Integer.compare(order(s, c, x), order(s, c, y)));
    for (int n : heard) {
      count.vote(n, new Granted(s[at(c, n, GRANT)], 0));
    }
    s[of(c, TOKEN)] = (byte) count.token();
    for (int n : count.toConfirm()) {
      switch (s[at(c, n, CONFIRM)]) {
        case 0 -> s[at(c, n, CONFIRM)] = SENT;
        case CONFIRMED + HEARD_OF -> count.confirm(n);
        case PASSED + HEARD_OF, GONE + HEARD_OF -> count.reject(n, new Vote.Lost());
        default -> {}
      }
    }
    if (count.outcome() != Outcome.ACQUIRED) {
      return true;
    }
    s[of(c, PHASE)] = HELD;
    for (int n = 0; n < NODES; n++) {
      boolean open = s[at(c, n, CONFIRM)] == SENT;
      Arrays.fill(s, at(c, n, GRANT), at(c, n, CLAIM_SIZE), (byte) 0);
      s[at(c, n, CONFIRM)] = (byte) (open ? SENT : 0);
      s[at(c, n, SCORE)] = open ? s[at(c, n, SCORE)] : 0;
    }
    return isSound(s, c);
  }

  private boolean isSound(byte[] s, int c) {
    int token = s[of(c, TOKEN)];
    boolean sound = token > s[of(c, ABOVE)];
    for (int other = 0; other < sides.length(); other++) {
      int phase = s[of(other, PHASE)];
      if (other != c && (phase == HELD || phase == ENDED)) {
        boolean apart = isWriter(c) || isWriter(other);
        sound &= !apart || phase == ENDED;
        sound &= apart ? token > s[of(other, TOKEN)] : token != s[of(other, TOKEN)];
      }
    }
    return sound;
  }

  private int order(byte[] s, int c, int n) {
    return s[at(c, n, GRANT)] == s[of(c, TOKEN)] ? -1 : s[at(c, n, GRANT)];
  }
}
