package dev.interlock.redlock;

import dev.interlock.redlock.Standing.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Which nodes may vote. A node that came back without its data, or without the last of it, has
 * forgotten whom it granted a lock to, and up to which number it has handed out fences. So it does
 * not vote for the longest term that there is in the cluster, after which every lease that counted
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

    /** Its quarantine begins. */
    record Quarantine(int node, String run) implements Step {}

    /** It votes from now on, with this floor or its own if that is higher. */
    record Admit(int node, String run, long floor, Ground ground) implements Step {}
  }

  /** Why a node may vote; the node makes sure that it is still so. */
  enum Ground {
    /** The cluster is new. */
    FOUNDING,
    /** It was restarted, and has forgotten nothing. */
    UNHARMED,
    /** Its quarantine is over. */
    SERVED
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
   * @param standings of all nodes
   * @param served the processes that were known to have served their quarantine before this look
   *     began: only then do the floors of the others count all that was confirmed until its end
   * @param patient whether a cluster that is being founded is left to its founder
   */
  List<Step> after(List<Standing> standings, Set<String> served, boolean patient) {
    int majority = Candidacy.majorityOf(standings.size());
    int answered = standings.size() - count(standings, Kind.UNREACHABLE);
    int blank = count(standings, Kind.BLANK);
    // A majority that has never voted, and nobody who has: there is nothing to be forgotten.
    boolean founding = blank >= majority && blank == answered;
    boolean left = patient && isBeingFounded(standings);

    int members = count(standings, Kind.MEMBER);
    int outsiders = answered - members;
    // Too many are out for a majority of members ever to be there again.
    boolean stranded = standings.size() - outsiders < majority && answered >= majority;

    List<Step> steps = new ArrayList<>();
    for (int node = 0; node < standings.size(); node++) {
      Standing standing = standings.get(node);
      switch (standing.kind()) {
        case BLANK -> {
          if (founding) {
            steps.add(new Step.Admit(node, standing.run(), 0, Ground.FOUNDING));
          } else if (!left) {
            steps.add(new Step.Quarantine(node, standing.run()));
          }
        }
        case RESTARTED ->
            steps.add(
                durable
                    ? new Step.Admit(node, standing.run(), 0, Ground.UNHARMED)
                    : new Step.Quarantine(node, standing.run()));
        case QUARANTINED -> {
          if (standing.hasServed() && served.contains(standing.run())) {
            if (members >= majority) {
              steps.add(
                  new Step.Admit(
                      node, standing.run(), highestFloor(standings, true), Ground.SERVED));
            } else if (stranded) {
              steps.add(
                  new Step.Admit(
                      node, standing.run(), highestFloor(standings, false) + JUMP, Ground.SERVED));
            }
          }
        }
        case MEMBER, UNREACHABLE -> {}
      }
    }
    return steps;
  }

  /**
   * Whether it may be that another client founds the cluster at this moment: some nodes have been
   * admitted and have not granted anything, the others have never voted. It may also be that a node
   * of a cluster that nobody has used was restarted; so these others are not admitted, but not sent
   * into quarantine at once, either.
   */
  static boolean isBeingFounded(List<Standing> standings) {
    int blank = count(standings, Kind.BLANK);
    int unused = (int) standings.stream().filter(Standing::hasNeverGranted).count();
    int answered = standings.size() - count(standings, Kind.UNREACHABLE);
    return blank > 0 && unused > 0 && blank + unused == answered;
  }

  private static int count(List<Standing> standings, Kind kind) {
    return (int) standings.stream().filter(standing -> standing.is(kind)).count();
  }

  private static long highestFloor(List<Standing> standings, boolean ofMembers) {
    return standings.stream()
        .filter(standing -> !ofMembers || standing.is(Kind.MEMBER))
        .mapToLong(Standing::floor)
        .max()
        .orElse(0);
  }
}
