package dev.interlock.redlock;

import dev.interlock.redlock.NodeStatus.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Which nodes may vote. A node that came back without its data, or without the last of it, has
 * forgotten whom it granted a lock to, and up to which number it has handed out fences. So it does
 * not vote for the longest TTL that there is in the cluster, after which every lease that counted
 * on it has ended or found another majority; and before it votes its floor is set to the highest
 * among a majority of the nodes that have gone on voting, which have all confirmed tokens but its
 * own.
 *
 * <p>No I/O and no clock.
 */
final class Admission {

  /** What is to be done about a node. */
  sealed interface Step {

    int node();

    /** The process that was looked at; the step is void if it is another one by now. */
    String run();

    /** It is told how many nodes there are. */
    record Count(int node, String run) implements Step {}

    /** Its quarantine begins. */
    record Quarantine(int node, String run) implements Step {}

    /** It votes from now on, with this floor or its own if that is higher. */
    record Admit(int node, String run, long floor, Reason reason) implements Step {}
  }

  /** Why a node may vote; the node makes sure that it is still so. */
  enum Reason {
    /** The cluster is new: no node has ever voted. */
    NEW_CLUSTER,
    /** It was restarted, and has forgotten nothing. */
    DATA_KEPT,
    /** Its quarantine is over. */
    QUARANTINE_OVER
  }

  /**
   * How far tokens jump when a majority of the nodes was restarted within one quarantine, and
   * nobody knows any more what was handed out last: by an hour of the clock that they follow.
   */
  static final long JUMP = Duration.ofHours(1).toMillis() * Hint.PER_MILLISECOND;

  private final boolean durable;

  /**
   * Makes the rules.
   *
   * @param durable whether a node that has a record has all its data, as with {@code appendfsync
   *     always}: it votes as soon as it is back
   */
  Admission(boolean durable) {
    this.durable = durable;
  }

  /**
   * Says what follows from a look at all nodes.
   *
   * @param statuses of all nodes
   * @param known the processes that were known to have served their quarantine before this look
   *     began: only then do the floors of the others count all that was confirmed until its end;
   *     and those that were known to be blank
   * @param patient whether a cluster that is being founded is left to its founder, and to the nodes
   *     that have not answered
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
    // Too many are out for a majority of members ever to be there again. They come back together:
    // with one of them admitted, it would look as if the others only had to wait for more.
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
   * Whether nothing can have been forgotten if this is so of all nodes: at one moment, between two
   * looks, nobody had voted, and none has been restarted since. One look is not enough. While it
   * goes on somebody else may found the cluster, take a lock, and lose a node, which is then blank
   * again. A majority is not enough, either: that node may be blank beside one that never voted,
   * while the third cannot be reached. And all have to agree on how many they are before one votes,
   * lest clients with lists of two lengths found two clusters at once.
   */
  private static boolean mayFound(NodeStatus blank, Set<String> known) {
    return blank.counted() && known.contains(blank.run());
  }

  /**
   * Whether it may be that the cluster is founded at this moment: some nodes have been admitted and
   * have not granted anything, or have not answered yet, the others have never voted. It may also
   * be that a node of a cluster that nobody has used was restarted; so these others are not
   * admitted, but not sent into quarantine at once, either.
   */
  static boolean isBeingFounded(List<NodeStatus> statuses) {
    int blank = count(statuses, Kind.BLANK);
    int unused = (int) statuses.stream().filter(NodeStatus::hasNeverGranted).count();
    int answered = statuses.size() - count(statuses, Kind.UNREACHABLE);
    return blank > 0 && blank < statuses.size() && blank + unused == answered;
  }

  /** Returns the processes that will be known at the next look. */
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
