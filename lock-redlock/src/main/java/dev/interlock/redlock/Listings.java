package dev.interlock.redlock;

import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The servers that clients have lately listed as nodes of the cluster, as the nodes remember them.
 * Of two clients that list A, B, C and A, B, D, each could find a majority. The later one learns
 * from A and B that others list a server that it does not list.
 *
 * <p>What counts against a node: no majority has it listed, and it has been running for longer than
 * the time since the other server was last listed. Otherwise it may be that server, restarted and
 * listed by another address. That is certain only if all nodes have answered.
 *
 * <p>No I/O and no clock.
 */
final class Listings {

  /**
   * A server that a client has listed as a node.
   *
   * @param run its process
   * @param ageMillis how long ago it was last listed
   * @param address the address by which the client lists it
   */
  record Listing(String run, long ageMillis, String address) {}

  /**
   * The answer of a node.
   *
   * @param run its process
   * @param upMillis how long that has been running
   * @param listings what clients have listed
   */
  record Reply(String run, long upMillis, List<Listing> listings) {}

  private final List<String> addresses;
  private final List<@Nullable Reply> replies;
  private final long slackMillis;

  /**
   * Reads the answers of the nodes.
   *
   * @param addresses of all nodes that this client lists
   * @param replies of the nodes; null for one that has not answered
   * @param slackMillis by how much times may be wrong
   */
  Listings(List<String> addresses, List<@Nullable Reply> replies, long slackMillis) {
    this.addresses = addresses;
    this.replies = replies;
    this.slackMillis = slackMillis;
  }

  /** Returns how many nodes have answered. */
  long answers() {
    return all().count();
  }

  /**
   * Returns a server that other clients list and this one does not, and that this node cannot have
   * been before its last start. As long as there is such a server, the node must not begin to vote.
   */
  Optional<Listing> conflictFor(int node) {
    Reply reply = replies.get(node);
    if (reply == null) {
      return Optional.empty();
    }
    return listings()
        .filter(listing -> !addresses.contains(listing.address()))
        .filter(listing -> all().noneMatch(each -> is(each).test(listing)))
        .filter(listing -> reply.upMillis() > listing.ageMillis() + slackMillis)
        .min(Comparator.comparingLong(Listing::ageMillis));
  }

  /**
   * Returns a node that others do not list, if that is certain: the server that they list may also
   * be one of our nodes that has not answered, or was restarted.
   */
  OptionalInt unlisted() {
    OptionalInt perhaps = perhapsUnlisted();
    return answers() == replies.size() ? perhaps : OptionalInt.empty();
  }

  /**
   * Returns a node that others may not list: the server that they list in its place may be a node
   * that has not answered.
   */
  OptionalInt perhapsUnlisted() {
    List<Integer> unlisted =
        IntStream.range(0, replies.size())
            .filter(this::hasAnswerOf)
            // A single one that lists it may belong to another cluster.
            .filter(node -> timesListed(node) < VoteCount.majorityOf(replies.size()))
            .boxed()
            .sorted(Comparator.comparingLong(this::timesListed))
            .toList();
    return unlisted.stream().allMatch(node -> conflictFor(node).isPresent())
        ? unlisted.stream().mapToInt(node -> node).findFirst()
        : OptionalInt.empty();
  }

  boolean hasAnswerOf(int node) {
    return replies.get(node) != null;
  }

  /** By how many of the nodes. */
  private long timesListed(int node) {
    Reply reply = Objects.requireNonNull(replies.get(node));
    return all().filter(each -> each.listings().stream().anyMatch(is(reply))).count();
  }

  private static Predicate<Listing> is(Reply reply) {
    return listing -> listing.run().equals(reply.run());
  }

  private Stream<Reply> all() {
    return replies.stream().filter(Objects::nonNull).map(Objects::requireNonNull);
  }

  private Stream<Listing> listings() {
    return all().flatMap(reply -> reply.listings().stream());
  }
}
