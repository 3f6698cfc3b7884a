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
 * Counts the votes of one attempt. Decides whether the attempt has acquired the lock, with which
 * token, and whether it still can.
 *
 * <p>The token is the highest fence among the first majority of grants. The attempt acquires the
 * lock when a majority holds it for this attempt <em>and</em> has a fence of at least the token.
 * Nodes with a lower fence are sent the token, and must confirm it. Any later majority then shares
 * a node with this one, and that node answers with a higher fence. Without the confirmation, a
 * token could repeat as soon as the node with the highest fence is missing from the next majority.
 *
 * <p>A later grant with a fence above the token does not count: that node may have granted this
 * token before, to another claim. (The model of the protocol found this.)
 *
 * <p>Pure: uses no I/O and no clock. Not thread-safe.
 */
final class VoteCount {

  /** The result of the count so far. */
  enum Outcome {
    /** The missing votes may still elect the attempt, or decide why it fails. */
    OPEN,
    /** A majority has confirmed the token. */
    ACQUIRED,
    /** A majority answered, and too many of its nodes are held by others. */
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

  static int majorityOf(int nodes) {
    return nodes / 2 + 1;
  }

  private int majority() {
    return majorityOf(steps.length);
  }

  /** Counts the vote of a node. Only the first vote of each node counts. */
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

  /** Returns the nodes that must be sent the token, each once. */
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

  /** Counts a node that has confirmed the token. */
  void confirm(int node) {
    if (steps[node] == Step.CONFIRMING) {
      steps[node] = Step.CONFIRMED;
    }
  }

  /** Counts a node that was sent the token and did not confirm it. */
  void reject(int node, Vote why) {
    if (steps[node] == Step.CONFIRMING) {
      steps[node] = Step.AGAINST;
      votes[node] = why;
    }
  }

  /** Returns the token, or 0 if no majority has granted yet. */
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
    boolean isBusy = false;
    for (Vote vote : votes) {
      if (vote instanceof Granted || vote instanceof Busy || vote instanceof Vote.Lost) {
        answered++;
        isBusy |= vote instanceof Busy;
      }
    }
    if (isBusy && answered >= majority()) {
      return Outcome.BUSY;
    }
    // The missing votes decide between BUSY and UNAVAILABLE.
    int asked = count(Step.ASKED);
    return asked > 0 && answered + asked >= majority() ? Outcome.OPEN : Outcome.UNAVAILABLE;
  }

  /**
   * The claim that has a majority of the nodes.
   *
   * @param value the value of the lock
   * @param remainingMillis the time until enough of the busy nodes may be free
   */
  record Holder(String value, long remainingMillis) {}

  /**
   * Returns the holder, or null if no claim is known to have a majority. Several attempts may then
   * have split the vote, and will withdraw.
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
        .map(value -> new Holder(value, remainingMillis()))
        .orElse(null);
  }

  /** Returns the time until enough of the busy nodes may be free; 0 if none is busy. */
  long remainingMillis() {
    List<Long> remaining = new ArrayList<>();
    for (Vote vote : votes) {
      if (vote instanceof Busy busy) {
        remaining.add(busy.remainingMillis());
      }
    }
    remaining.sort(null);
    int needed = Math.min(remaining.size(), Math.max(1, majority() - holders().size()));
    return needed == 0 ? 0 : remaining.get(needed - 1);
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

  /** Returns the vote of a node; null if it has not voted yet. */
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
