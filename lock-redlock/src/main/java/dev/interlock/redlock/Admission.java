package dev.interlock.redlock;

import dev.interlock.redlock.NodeStatus.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The rules by which nodes may vote. A node that was restarted without all of its data has
 * forgotten locks that it granted, and its highest fence. So it does not vote for the longest TTL
 * in the cluster: by then every lease that counted on it has ended or found another majority.
 * Before it votes, its floor is set to the highest floor among a majority of the nodes that went on
 * voting, because these have confirmed all tokens.
 *
 * <p>Pure: uses no I/O and no clock.
 */
final class Admission {

  /** One step of a client about one node. */
  sealed interface Step {

    int node();

    /** The process that was examined. The step must not be sent to another one. */
    String run();

    /** Stores the number of nodes in the record. */
    record Count(int node, String run) implements Step {}

    /** Begins the quarantine. */
    record Quarantine(int node, String run) implements Step {}

    /** Lets the node vote, with this floor, or with its own if that is higher. */
    record Admit(int node, String run, long floor, Reason reason) implements Step {}
  }

  /** The reason for which a node may vote. The node checks that it still applies. */
  enum Reason {
    /** The cluster is new: no node has ever voted. */
    NEW_CLUSTER,
    /** The node was restarted, and has forgotten nothing. */
    DATA_KEPT,
    /** The node's quarantine is over. */
    QUARANTINE_OVER
  }

  /**
   * The distance by which tokens jump when a majority of the nodes was restarted within one
   * quarantine, so that the last token is unknown. It is one hour in the units of {@link Hint}.
   */
  static final long JUMP = Duration.ofHours(1).toMillis() * Hint.PER_MILLISECOND;

  private final boolean durable;

  /**
   * Creates the rules.
   *
   * @param durable whether a node that has its record has all its data, as with {@code appendfsync
   *     always}, so that it may vote at once
   */
  Admission(boolean durable) {
    this.durable = durable;
  }

  /**
   * Returns the steps that follow from an examination of all nodes.
   *
   * @param statuses the states of all nodes
   * @param candidates the {@linkplain #candidates processes} that could be admitted according to
   *     the examination before. A quarantine must have ended before this examination began: only
   *     then do the floors of the others include all that was confirmed until its end
   * @param leaveToFounder whether to wait while another client may be founding the cluster
   */
  List<Step> stepsFor(List<NodeStatus> statuses, Set<String> candidates, boolean leaveToFounder) {
    int majority = VoteCount.majorityOf(statuses.size());
    int answered = statuses.size() - count(statuses, Kind.UNREACHABLE);
    boolean allBlank = count(statuses, Kind.BLANK) == statuses.size();
    boolean founding = allBlank && statuses.stream().allMatch(each -> mayFound(each, candidates));
    boolean isLeftToFounder = leaveToFounder && isBeingFounded(statuses);

    int members = count(statuses, Kind.MEMBER);
    int outsiders = answered - members;
    long readyCount = statuses.stream().filter(each -> hasServed(each, candidates)).count();
    // Without the outsiders there can never be a majority of members again. So they are admitted
    // together: if one were admitted alone, the others would seem to have to wait.
    boolean hasNoMajority =
        statuses.size() - outsiders < majority && members + readyCount >= majority;

    List<Step> steps = new ArrayList<>();
    for (int node = 0; node < statuses.size(); node++) {
      NodeStatus status = statuses.get(node);
      if (status.isOfVersion01() || (allBlank && !status.counted())) {
        steps.add(new Step.Count(node, status.run()));
      }
      switch (status.kind()) {
        case BLANK -> {
          if (founding) {
            steps.add(new Step.Admit(node, status.run(), 0, Reason.NEW_CLUSTER));
          } else if (!allBlank && !isLeftToFounder) {
            steps.add(new Step.Quarantine(node, status.run()));
          }
        }
        case RESTARTED ->
            steps.add(
                durable
                    ? new Step.Admit(node, status.run(), 0, Reason.DATA_KEPT)
                    : new Step.Quarantine(node, status.run()));
        case QUARANTINED -> {
          if (hasServed(status, candidates)) {
            if (members >= majority) {
              steps.add(
                  new Step.Admit(
                      node, status.run(), highestFloor(statuses, true), Reason.QUARANTINE_OVER));
            } else if (hasNoMajority) {
              steps.add(
                  new Step.Admit(
                      node,
                      status.run(),
                      highestFloor(statuses, false) + JUMP,
                      Reason.QUARANTINE_OVER));
            }
          }
        }
        case MEMBER, UNREACHABLE -> {}
      }
    }
    return steps;
  }

  /**
   * Whether the cluster may be founded, as far as one node is concerned. If this is true of all
   * nodes, nothing can have been forgotten: at some moment between two examinations no node had
   * voted, and no node has been restarted since. One examination is not enough: during it another
   * client may found the cluster, take a lock, and lose a node, which is then blank again. A
   * majority is not enough either: that node may be blank beside one that never voted, while the
   * third node cannot be reached. And all nodes must have the same number of nodes before one
   * votes. Otherwise clients with lists of two lengths might found two clusters.
   */
  private static boolean mayFound(NodeStatus blank, Set<String> candidates) {
    return blank.counted() && candidates.contains(blank.run());
  }

  /**
   * Whether another client may be founding the cluster. In that case some nodes have been admitted
   * and have granted nothing, or have not answered yet, and the others have never voted. It looks
   * the same if a node of an unused cluster was restarted. So the other nodes are not admitted, or
   * put into quarantine, at once.
   */
  static boolean isBeingFounded(List<NodeStatus> statuses) {
    int blank = count(statuses, Kind.BLANK);
    int unused = (int) statuses.stream().filter(NodeStatus::hasNeverGranted).count();
    int answered = statuses.size() - count(statuses, Kind.UNREACHABLE);
    return blank > 0 && blank < statuses.size() && blank + unused == answered;
  }

  /** Returns the processes that are blank, or whose quarantine is over. */
  static Set<String> candidates(List<NodeStatus> statuses) {
    return statuses.stream()
        .filter(status -> status.hasServed() || status.is(Kind.BLANK))
        .map(NodeStatus::run)
        .collect(Collectors.toSet());
  }

  private static boolean hasServed(NodeStatus status, Set<String> candidates) {
    return status.hasServed() && candidates.contains(status.run());
  }

  private static int count(List<NodeStatus> statuses, Kind kind) {
    return (int) statuses.stream().filter(status -> status.is(kind)).count();
  }

  private static long highestFloor(List<NodeStatus> statuses, boolean ofMembers) {
    return statuses.stream()
        .filter(status -> !ofMembers || status.is(Kind.MEMBER))
        .mapToLong(NodeStatus::floor)
        .max()
        .orElse(0);
  }
}
