package dev.interlock.redlock;

import dev.interlock.redlock.NodeStatus.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Which nodes may vote. A node that came back without all of its data has forgotten locks that it
 * granted, and the highest fence that it handed out. So it does not vote for the longest TTL in the
 * cluster, after which every lease that counted on it has ended or found another majority. Before
 * it votes, its floor is set to the highest among a majority of the nodes that went on voting,
 * which have all confirmed tokens.
 *
 * <p>No I/O and no clock.
 */
final class Admission {

  /** What to do about a node. */
  sealed interface Step {

    int node();

    /** The process that was examined; the step is void for another one. */
    String run();

    /** It gets the number of nodes. */
    record Count(int node, String run) implements Step {}

    /** Its quarantine begins. */
    record Quarantine(int node, String run) implements Step {}

    /** It votes from now on, with this floor or its own if that is higher. */
    record Admit(int node, String run, long floor, Reason reason) implements Step {}
  }

  /** Why a node may vote; the node checks that this still holds. */
  enum Reason {
    /** The cluster is new: no node has ever voted. */
    NEW_CLUSTER,
    /** It was restarted, and has forgotten nothing. */
    DATA_KEPT,
    /** Its quarantine is over. */
    QUARANTINE_OVER
  }

  /**
   * How far tokens jump when a majority of the nodes was restarted within one quarantine, so that
   * the last token is unknown: by an hour of the clock that they follow.
   */
  static final long JUMP = Duration.ofHours(1).toMillis() * Hint.PER_MILLISECOND;

  private final boolean durable;

  /**
   * Creates the rules.
   *
   * @param durable whether a node that has a record has all its data, as with {@code appendfsync
   *     always}, and votes as soon as it is back
   */
  Admission(boolean durable) {
    this.durable = durable;
  }

  /**
   * Returns the steps that follow from a look at all nodes.
   *
   * @param statuses of all nodes
   * @param known the processes that were known before this look to have served their quarantine,
   *     because only then the others' floors include all that was confirmed until its end; and
   *     those that were known to be blank
   * @param patient whether to leave a cluster that is being founded to its founder, and to the
   *     nodes that have not answered
   */
  List<Step> after(List<NodeStatus> statuses, Set<String> known, boolean patient) {
    int majority = VoteCount.majorityOf(statuses.size());
    int answered = statuses.size() - count(statuses, Kind.UNREACHABLE);
    boolean untouched = count(statuses, Kind.BLANK) == statuses.size();
    boolean founding = untouched && statuses.stream().allMatch(each -> mayFound(each, known));
    boolean left = patient && isBeingFounded(statuses);

    int members = count(statuses, Kind.MEMBER);
    int outsiders = answered - members;
    long ready = statuses.stream().filter(each -> hasServed(each, known)).count();
    // Without those that are out there is never a majority of members again. They come back
    // together:
    // if one were admitted alone, the others would seem to have to wait for more.
    boolean stranded = statuses.size() - outsiders < majority && members + ready >= majority;

    List<Step> steps = new ArrayList<>();
    for (int node = 0; node < statuses.size(); node++) {
      NodeStatus status = statuses.get(node);
      if (status.isOfVersion01() || (untouched && !status.counted())) {
        steps.add(new Step.Count(node, status.run()));
      }
      switch (status.kind()) {
        case BLANK -> {
          if (founding) {
            steps.add(new Step.Admit(node, status.run(), 0, Reason.NEW_CLUSTER));
          } else if (!untouched && !left) {
            steps.add(new Step.Quarantine(node, status.run()));
          }
        }
        case RESTARTED ->
            steps.add(
                durable
                    ? new Step.Admit(node, status.run(), 0, Reason.DATA_KEPT)
                    : new Step.Quarantine(node, status.run()));
        case QUARANTINED -> {
          if (hasServed(status, known)) {
            if (members >= majority) {
              steps.add(
                  new Step.Admit(
                      node, status.run(), highestFloor(statuses, true), Reason.QUARANTINE_OVER));
            } else if (stranded) {
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
   * Whether this node permits to found the cluster. If all nodes do, nothing can have been
   * forgotten: at one moment between two looks no node had voted, and none has been restarted
   * since. One look is not enough: during it another client may found the cluster, take a lock, and
   * lose a node, which is then blank again. A majority is not enough either: that node may be blank
   * beside one that never voted, while the third cannot be reached. And all have to have the same
   * number of nodes before one votes, or else clients with lists of two lengths might found two
   * clusters.
   */
  private static boolean mayFound(NodeStatus blank, Set<String> known) {
    return blank.counted() && known.contains(blank.run());
  }

  /**
   * Whether another client may be founding the cluster: some nodes have been admitted and have not
   * granted anything, or have not answered yet, and the others have never voted. Or else a node of
   * an unused cluster was restarted. So the others are neither admitted nor sent into quarantine at
   * once.
   */
  static boolean isBeingFounded(List<NodeStatus> statuses) {
    int blank = count(statuses, Kind.BLANK);
    int unused = (int) statuses.stream().filter(NodeStatus::hasNeverGranted).count();
    int answered = statuses.size() - count(statuses, Kind.UNREACHABLE);
    return blank > 0 && blank < statuses.size() && blank + unused == answered;
  }

  /** Returns the processes that are known at the next look. */
  static Set<String> known(List<NodeStatus> statuses) {
    return statuses.stream()
        .filter(status -> status.hasServed() || status.is(Kind.BLANK))
        .map(NodeStatus::run)
        .collect(Collectors.toSet());
  }

  private static boolean hasServed(NodeStatus status, Set<String> known) {
    return status.hasServed() && known.contains(status.run());
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
