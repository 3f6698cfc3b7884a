package dev.interlock.zookeeper;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The name of one node in a lock's queue: the id of the claim that created it, and the sequence
 * number that the servers appended.
 *
 * <p>A later version that stores locks in another way must name its nodes differently: this version
 * refuses a lock that has a child with any other name.
 *
 * @param full the whole name, as listed
 * @param claimId the id of the claim that created the node
 * @param number the sequence number: the order of arrival
 */
record NodeName(String full, String claimId, int number) implements Comparable<NodeName> {

  /**
   * The highest sequence number in use. A lock that has come half as far gets a new node, and
   * counts from 0 again, as soon as its queue is empty. The servers count the children of a node in
   * 32 bits; after an overflow numbers are negative, or given to several nodes.
   */
  static final int LAST_NUMBER = Integer.MAX_VALUE - (1 << 20);

  private static final int ID_LENGTH = 27;
  private static final Pattern NAME =
      Pattern.compile("([A-Za-z0-9_-]{" + ID_LENGTH + "})-(-?\\d{9,10})");

  /** The name to ask the servers for; they append the number. */
  static String prefix(String claimId) {
    return claimId + "-";
  }

  /** Parses a name; empty if no lock client created the node. */
  static Optional<NodeName> parse(String name) {
    Matcher matcher = NAME.matcher(name);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    long number = Long.parseLong(matcher.group(2));
    return Optional.of(
        new NodeName(
            name,
            matcher.group(1),
            number < 0 || number > Integer.MAX_VALUE ? Integer.MAX_VALUE : (int) number));
  }

  boolean isBeyondLast() {
    return number > LAST_NUMBER;
  }

  /** Whether the lock's node should be replaced when its queue is empty. */
  boolean isWorn() {
    return number > LAST_NUMBER / 2;
  }

  @Override
  public int compareTo(NodeName other) {
    return Integer.compare(number, other.number);
  }
}
