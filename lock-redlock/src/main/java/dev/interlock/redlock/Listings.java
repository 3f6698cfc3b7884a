package dev.interlock.redlock;

import java.util.ArrayList;
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
 * The servers that clients have lately listed as nodes of the cluster, according to the nodes. If
 * one client lists A, B, C and another A, B, D, each could find a majority. The later one learns
 * from A and B that others list a server that it does not list.
 *
 * <p>Other clients do not list a node if no majority has it recorded, and it has been running for
 * longer than the time since the other server was last listed. If it was started later, it may be
 * that server, restarted and listed by another address. The result is certain only if all nodes
 * have answered.
 *
 * <p>Pure: uses no I/O and no clock.
 */
final class Listings {

  /**
   * A server that a client has listed as a node.
   *
   * @param run its process
   * @param ageMillis the time since it was last listed
   * @param address the address by which the client lists it
   */
  record Listing(String run, long ageMillis, String address) {}

  /** Reads the reply of {@code exchange_listings.lua}. */
  static List<Listing> read(List<?> reply) {
    List<Listing> listings = new ArrayList<>();
    for (int i = 1; i < reply.size(); i += 3) {
      listings.add(
          new Listing(
              Round.text(reply.get(i)), (Long) reply.get(i + 1), Round.text(reply.get(i + 2))));
    }
    return listings;
  }

  /**
   * The answer of a node.
   *
   * @param run its process
   * @param upMillis the time for which this process has been running
   * @param listings the servers that clients have listed
   */
  record Reply(String run, long upMillis, List<Listing> listings) {}

  private final List<String> addresses;
  private final List<@Nullable Reply> replies;
  private final long slackMillis;

  /**
   * Creates the listings from the answers of the nodes.
   *
   * @param addresses the addresses of all nodes that this client lists
   * @param replies the answers of the nodes; null for a node that has not answered
   * @param slackMillis the maximum error of the times
   */
  Listings(List<String> addresses, List<@Nullable Reply> replies, long slackMillis) {
    this.addresses = addresses;
    this.replies = replies;
    this.slackMillis = slackMillis;
  }

  /** Returns the number of nodes that have answered. */
  long answers() {
    return all().count();
  }

  /**
   * Returns a server that other clients list and this client does not, and that cannot be this node
   * before its last start. As long as there is such a server, the node must not begin to vote.
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
   * Returns a node that other clients certainly do not list. It is not certain if a node has not
   * answered, because the server that they list instead may be that node.
   */
  OptionalInt unlisted() {
    OptionalInt candidate = perhapsUnlisted();
    return answers() == replies.size() ? candidate : OptionalInt.empty();
  }

  /**
   * Returns a node that other clients may not list. The server that they list instead may also be a
   * node that has not answered.
   */
  OptionalInt perhapsUnlisted() {
    List<Integer> unlisted =
        IntStream.range(0, replies.size())
            .filter(this::hasAnswerOf)
            // A minority that has it recorded may belong to another cluster.
            .filter(node -> countRecords(node) < VoteCount.majorityOf(replies.size()))
            .boxed()
            .sorted(Comparator.comparingLong(this::countRecords))
            .toList();
    return unlisted.stream().allMatch(node -> conflictFor(node).isPresent())
        ? unlisted.stream().mapToInt(node -> node).findFirst()
        : OptionalInt.empty();
  }

  boolean hasAnswerOf(int node) {
    return replies.get(node) != null;
  }

  private long countRecords(int node) {
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
