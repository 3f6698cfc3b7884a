package dev.interlock.redlock;

import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Which servers are the nodes of a cluster, by what these say themselves. Two clients that list
 * different nodes could each have a majority of its own: of A, B, C and A, B, D the one has A and
 * C, the other B and D. So every node keeps a roll of no more nodes than there are, which clients
 * call: they say which nodes they list, and count the votes of those that are on the rolls of a
 * majority for a while from then ({@link RollCall}).
 *
 * <p>A node is put in the place of another when nobody has called that for so long that every lease
 * which counted on it has ended. As with any change of a quorum by one member, two majorities have
 * a node in common, here one that has either the former or the new one on its roll.
 *
 * <p>No I/O and no clock.
 */
final class Roll {

  /** One node on a roll: its id, for how long nobody has called it, and the address it had then. */
  record Line(String id, long ageMillis, String address) {}

  /**
   * What one node says to a call.
   *
   * @param id what it is called itself
   * @param voting whether it votes, as far as it knows
   * @param lines the roll
   */
  record Reply(String id, boolean voting, List<Line> lines) {

    boolean has(String other) {
      return lines.stream().anyMatch(line -> line.id().equals(other));
    }
  }

  private final List<@Nullable Reply> replies;
  private final int majority;
  private final Set<Integer> members;

  /**
   * Counts.
   *
   * @param replies of all nodes that the client lists; null for one that has not answered
   */
  Roll(List<@Nullable Reply> replies) {
    this.replies = replies;
    this.majority = Candidacy.majorityOf(replies.size());
    this.members = members();
  }

  /** One that was replaced may know others that were: so nobody is known by it, either. */
  private Set<Integer> members() {
    Set<Integer> known = new HashSet<>();
    for (int node = 0; node < replies.size(); node++) {
      Reply reply = replies.get(node);
      if (reply != null && reply.voting()) {
        known.add(node);
      }
    }
    Set<Integer> before;
    do {
      before = Set.copyOf(known);
      Set<Integer> rolls = before;
      known.removeIf(node -> countOn(rolls, node) < majority);
    } while (known.size() < before.size());
    return before;
  }

  private long countOn(Set<Integer> rolls, int node) {
    Reply reply = replies.get(node);
    return reply == null ? 0 : rolls.stream().filter(each -> has(each, reply.id())).count();
  }

  private boolean has(int node, String id) {
    Reply reply = replies.get(node);
    return reply != null && reply.has(id);
  }

  /** The nodes that vote, and that a majority of such nodes knows. */
  Set<Integer> counted() {
    return members;
  }

  /**
   * Says whether the node is one of the cluster's: a majority of its voting nodes knows it, or all
   * nodes that answer while there is no such majority.
   */
  Standing.Listing listing(int node) {
    Reply reply = replies.get(node);
    if (reply == null) {
      return Standing.Listing.UNLISTED;
    }
    if (members.size() < majority) {
      return replies.stream().allMatch(each -> each == null || each.has(reply.id()))
          ? Standing.Listing.LISTED
          : Standing.Listing.UNLISTED;
    }
    if (countOn(members, node) >= majority) {
      return Standing.Listing.LISTED;
    }
    long itKnows = members.stream().filter(each -> reply.has(id(each))).count();
    return reply.voting() && itKnows >= majority
        ? Standing.Listing.REPLACED
        : Standing.Listing.UNLISTED;
  }

  boolean hasAnswered(int node) {
    return replies.get(node) != null;
  }

  /** What a node is called; empty if it has not answered, or has no name yet. */
  String id(int node) {
    Reply reply = replies.get(node);
    return reply == null ? "" : reply.id();
  }

  /** The server that has been called last of those that others list, and this client does not. */
  Optional<Line> other() {
    return members.stream()
        .flatMap(node -> lines(node).stream())
        .filter(line -> replies.stream().noneMatch(r -> r != null && r.id().equals(line.id())))
        .min(Comparator.comparingLong(Line::ageMillis));
  }

  private List<Line> lines(int node) {
    Reply reply = replies.get(node);
    return reply == null ? List.of() : reply.lines();
  }

  /**
   * The roll of a node that is admitted: those that the client lists, and those that a majority
   * knows besides.
   *
   * @param address of each node that the client lists
   */
  List<Line> agreed(IntFunction<String> address) {
    Map<String, Line> agreed = new LinkedHashMap<>();
    for (int node = 0; node < replies.size(); node++) {
      if (listing(node) == Standing.Listing.LISTED) {
        agreed.put(id(node), new Line(id(node), 0, address.apply(node)));
      }
    }
    members.stream()
        .flatMap(node -> lines(node).stream())
        .filter(line -> members.stream().filter(each -> has(each, line.id())).count() >= majority)
        .forEach(line -> agreed.putIfAbsent(line.id(), line));
    return List.copyOf(agreed.values());
  }
}
