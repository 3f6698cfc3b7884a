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
 * Which servers clients have called nodes of the cluster lately, as the nodes remember it. Of two
 * clients that list A, B, C and A, B, D each could find a majority of its own. The one that comes
 * later learns from A and B that others list a server that it does not list itself.
 *
 * <p>Only what cannot be a mistake counts against a node: that nobody has called it, and that it
 * has been running for longer than the other has not been called. Otherwise it may be the other
 * one, started anew and listed by another address.
 *
 * <p>No I/O and no clock.
 */
final class Roll {

  /**
   * A server that a client has called a node.
   *
   * @param run its process
   * @param ageMillis how long ago it was called last
   * @param address what the client calls it
   */
  record Line(String run, long ageMillis, String address) {}

  /**
   * What a node answered.
   *
   * @param run its process
   * @param upMillis for how long that has been running
   * @param lines what clients have told it
   */
  record Reply(String run, long upMillis, List<Line> lines) {}

  private final List<String> addresses;
  private final List<@Nullable Reply> replies;
  private final long slackMillis;

  /**
   * Reads the rolls.
   *
   * @param addresses of all nodes that this client lists
   * @param replies theirs, null of one that has not answered
   * @param slackMillis by how much times may be wrong
   */
  Roll(List<String> addresses, List<@Nullable Reply> replies, long slackMillis) {
    this.addresses = addresses;
    this.replies = replies;
    this.slackMillis = slackMillis;
  }

  /**
   * Returns what others list, that this client does not, and that this node cannot have been before
   * its last start. As long as there is such a server, the node must not begin to vote.
   */
  Optional<Line> rivalOf(int node) {
    Reply reply = replies.get(node);
    if (reply == null) {
      return Optional.empty();
    }
    return lines()
        .filter(line -> !addresses.contains(line.address()))
        .filter(line -> all().noneMatch(each -> is(each).test(line)))
        .filter(line -> reply.upMillis() > line.ageMillis() + slackMillis)
        .min(Comparator.comparingLong(Line::ageMillis));
  }

  /**
   * Returns a node that others do not list, if that is certain: what they list could also be one of
   * ours that has not answered, or was started anew.
   */
  OptionalInt stranger() {
    int[] unknown = IntStream.range(0, replies.size()).filter(node -> !isCalled(node)).toArray();
    return IntStream.of(unknown).allMatch(node -> rivalOf(node).isPresent())
        ? IntStream.of(unknown).findFirst()
        : OptionalInt.empty();
  }

  /** Whether a majority of the nodes has it on its roll: one alone may be of another cluster. */
  private boolean isCalled(int node) {
    Reply reply = replies.get(node);
    return reply != null
        && all().filter(each -> each.lines().stream().anyMatch(is(reply))).count()
            >= Candidacy.majorityOf(replies.size());
  }

  private static Predicate<Line> is(Reply reply) {
    return line -> line.run().equals(reply.run());
  }

  private Stream<Reply> all() {
    return replies.stream().filter(Objects::nonNull).map(Objects::requireNonNull);
  }

  private Stream<Line> lines() {
    return all().flatMap(reply -> reply.lines().stream());
  }
}
