package dev.interlock.zookeeper;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The name of one node in a lock's line: the claim that it belongs to, and the number that the
 * servers gave it.
 *
 * @param name the whole name, as listed
 * @param claimId the identity of the attempt that made it
 * @param number its place in the order of arrival
 */
record LineNode(String name, String claimId, int number) implements Comparable<LineNode> {

  /**
   * Numbers beyond this are not used, and a line that has come half as far starts anew as soon as
   * nobody stands in it. The servers count the children of a node in 32 bits, and number several
   * alike, or below zero, when these have run out.
   */
  static final int LAST_NUMBER = Integer.MAX_VALUE - (1 << 20);

  private static final int ID_LENGTH = 27;
  private static final Pattern NAME =
      Pattern.compile("([A-Za-z0-9_-]{" + ID_LENGTH + "})-(-?\\d{9,10})");

  /** What to ask the servers for: they append the number. */
  static String prefix(String claimId) {
    return claimId + "-";
  }

  /** Takes a name apart; empty if it was not made by us. */
  static Optional<LineNode> parse(String name) {
    Matcher matcher = NAME.matcher(name);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    long number = Long.parseLong(matcher.group(2));
    return Optional.of(
        new LineNode(
            name,
            matcher.group(1),
            number < 0 || number > Integer.MAX_VALUE ? Integer.MAX_VALUE : (int) number));
  }

  boolean isBeyondLast() {
    return number > LAST_NUMBER;
  }

  /** Whether the line should start to count anew when it is empty. */
  boolean isWorn() {
    return number > LAST_NUMBER / 2;
  }

  @Override
  public int compareTo(LineNode other) {
    return Integer.compare(number, other.number);
  }
}
