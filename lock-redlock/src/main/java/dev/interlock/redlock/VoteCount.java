package dev.interlock.redlock;

import dev.interlock.redlock.Vote.Busy;
import dev.interlock.redlock.Vote.Granted;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Counts the votes of one attempt: whether it has acquired the lock, with which token, and whether
 * it still can.
 *
 * <p>The token is the highest fence among the first majority of grants. The attempt acquires the
 * lock when a majority holds it for this attempt <em>and</em> has a fence of at least the token:
 * nodes below it are sent the token, and have to confirm. Any later majority then shares a node
 * with this one, which answers it with a higher fence. The highest of several counters alone, not
 * written back, repeats as soon as the node that had it is missing from the next majority.
 *
 * <p>A later grant with a fence above the token does not count: that node may have granted this
 * very token before, to another claim. (The model of the protocol found that.)
 *
 * <p>No I/O and no clock; not thread-safe.
 */
final class VoteCount {

  /** How far the count is. */
  enum Outcome {
    /** Missing votes may elect it, or show why not. */
    OPEN,
    /** A majority has confirmed the token. */
    ACQUIRED,
    /** A majority answered, and others hold too many of its nodes. */
    BUSY,
    /** Too many nodes did not answer, or do not vote. */
    UNAVAILABLE
  }

  private enum Step {
    ASKED,
    GRANTED,
    CONFIRMING,
    CONFIRMED,
    AGAINST
  }

  private final @Nullable Vote[] votes;
  private final Step[] steps;
  private long token;

  VoteCount(int nodes) {
    this.votes = new @Nullable Vote[nodes];
    this.steps = new Step[nodes];
    Arrays.fill(steps, Step.ASKED);
  }

  /** Returns how many of these nodes are a majority. */
  static int majorityOf(int nodes) {
    return nodes / 2 + 1;
  }

  private int majority() {
    return majorityOf(steps.length);
  }

  /** Counts the answer of a node to the first question; the first answer of a node is the last. */
  void vote(int node, Vote vote) {
    if (steps[node] != Step.ASKED) {
      return;
    }
    votes[node] = vote;
    steps[node] = vote instanceof Granted ? Step.GRANTED : Step.AGAINST;
    if (token == 0 && count(Step.GRANTED) >= majority()) {
      token = highestFence();
    }
    if (token != 0) {
      for (int i = 0; i < steps.length; i++) {
        if (steps[i] == Step.GRANTED && votes[i] instanceof Granted granted) {
          steps[i] =
              granted.fence() == token
                  ? Step.CONFIRMED
                  : granted.fence() < token ? Step.GRANTED : Step.AGAINST;
        }
      }
    }
  }

  private long highestFence() {
    long highest = 0;
    for (Vote vote : votes) {
      if (vote instanceof Granted granted) {
        highest = Math.max(highest, granted.fence());
      }
    }
    return highest;
  }

  /** Returns the nodes that need the token, each once. */
  List<Integer> toConfirm() {
    List<Integer> nodes = new ArrayList<>();
    if (token != 0) {
      for (int i = 0; i < steps.length; i++) {
        if (steps[i] == Step.GRANTED) {
          steps[i] = Step.CONFIRMING;
          nodes.add(i);
        }
      }
    }
    return nodes;
  }

  /** A node that was sent the token holds the lock for this attempt, and has that fence or more. */
  void confirmed(int node) {
    if (steps[node] == Step.CONFIRMING) {
      steps[node] = Step.CONFIRMED;
    }
  }

  /** A node that was sent the token did not confirm. */
  void notConfirmed(int node, Vote why) {
    if (steps[node] == Step.CONFIRMING) {
      steps[node] = Step.AGAINST;
      votes[node] = why;
    }
  }

  /** Returns the token, or 0 as long as no majority has granted. */
  long token() {
    return token;
  }

  Outcome outcome() {
    int confirmed = count(Step.CONFIRMED);
    if (confirmed >= majority()) {
      return Outcome.ACQUIRED;
    }
    int possible = confirmed + count(Step.ASKED) + count(Step.GRANTED) + count(Step.CONFIRMING);
    if (possible >= majority()) {
      return Outcome.OPEN;
    }
    int answered = 0;
    boolean contested = false;
    for (Vote vote : votes) {
      if (vote instanceof Granted || vote instanceof Busy || vote instanceof Vote.Lost) {
        answered++;
        contested |= vote instanceof Busy;
      }
    }
    if (contested && answered >= majority()) {
      return Outcome.BUSY;
    }
    // The missing answers decide whether it is held or out of reach.
    int asked = count(Step.ASKED);
    return asked > 0 && answered + asked >= majority() ? Outcome.OPEN : Outcome.UNAVAILABLE;
  }

  /**
   * The claim that has a majority of the nodes.
   *
   * @param value the value of its lock
   * @param leftMillis after how many milliseconds enough of the busy nodes may be free
   */
  record Holder(String value, long leftMillis) {}

  /**
   * Returns the holder, or null if no claim is known to have a majority: several attempts may have
   * split the vote, and will give up.
   */
  @Nullable Holder holder() {
    Map<String, Integer> nodes = new HashMap<>();
    for (Vote vote : votes) {
      if (vote instanceof Busy busy) {
        nodes.merge(busy.value(), 1, Integer::sum);
      }
    }
    return nodes.keySet().stream()
        .filter(value -> nodes.getOrDefault(value, 0) >= majority())
        .findFirst()
        .map(value -> new Holder(value, leftMillis()))
        .orElse(null);
  }

  /** After how many milliseconds enough of the busy nodes may be free; 0 if none is busy. */
  long leftMillis() {
    List<Long> lefts = new ArrayList<>();
    for (Vote vote : votes) {
      if (vote instanceof Busy busy) {
        lefts.add(busy.leftMillis());
      }
    }
    lefts.sort(null);
    int needed = Math.min(lefts.size(), Math.max(1, majority() - holders().size()));
    return needed == 0 ? 0 : lefts.get(needed - 1);
  }

  /** Returns the nodes that have granted and may hold the lock for this attempt. */
  List<Integer> holders() {
    List<Integer> nodes = new ArrayList<>();
    for (int i = 0; i < votes.length; i++) {
      if (votes[i] instanceof Granted) {
        nodes.add(i);
      }
    }
    return nodes;
  }

  /** Returns what each node has said; null where nothing has come yet. */
  @Nullable Vote vote(int node) {
    return votes[node];
  }

  private int count(Step step) {
    int count = 0;
    for (Step each : steps) {
      if (each == step) {
        count++;
      }
    }
    return count;
  }
}
