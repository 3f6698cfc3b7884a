package dev.interlock.zookeeper;

import com.google.common.base.Strings;
import dev.interlock.LockKind;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Share;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The name of one node in a lock's queue: the id of the claim that created it, its share unless the
 * lock is exclusive, and the sequence number that the servers appended. So one listing shows who
 * holds the lock, without reading any node.
 *
 * <pre>
 * ID-0000000007         an exclusive lock
 * ID-read-0000000007    a reader of a read-write lock
 * ID-write-0000000007   its writer
 * ID-2of5-0000000007    two permits of a semaphore of five
 * </pre>
 *
 * <p>A later version that stores locks in another way must name its nodes differently, because this
 * version refuses a lock that has a child with any other name. For the same reason versions that
 * know only exclusive locks refuse the other kinds.
 *
 * @param full the whole name, as listed
 * @param claimId the id of the claim that created the node
 * @param share the share of the lock that the claim takes
 * @param number the sequence number: the order of arrival
 */
record NodeName(String full, String claimId, Share share, int number)
    implements Comparable<NodeName> {

  /**
   * The highest sequence number in use. A lock that has used half of the numbers gets a new node as
   * soon as its queue is empty, and counts from 0 again. The servers count the children of a node
   * in 32 bits; after an overflow numbers are negative, or shared by several nodes.
   */
  static final int MAX_NUMBER = Integer.MAX_VALUE - (1 << 20);

  private static final int ID_LENGTH = 27;
  private static final Pattern NAME =
      Pattern.compile(
          "([A-Za-z0-9_-]{"
              + ID_LENGTH
              + "})-(?:(read|write|([1-9]\\d{0,9})of([1-9]\\d{0,9}))-)?(-?\\d{9,10})");

  /** The beginning of the name, to which the servers append the number. */
  static String prefix(Claim claim) {
    Share share = claim.share();
    return claim.id()
        + switch (share.kind()) {
          case EXCLUSIVE -> "-";
          case READ_WRITE -> share.isWhole() ? "-write-" : "-read-";
          case SEMAPHORE -> "-" + share.weight() + "of" + share.capacity() + "-";
        };
  }

  /** The name of a claim's node with the number that the servers appended. */
  static NodeName of(Claim claim, int number) {
    String prefix = prefix(claim);
    return new NodeName(
        prefix + digits(number),
        prefix.substring(0, ID_LENGTH),
        claim.share(),
        number < 0 ? Integer.MAX_VALUE : number);
  }

  /** Formats a number as the servers do, in at least ten characters. */
  private static String digits(int number) {
    return number < 0
        ? "-" + Strings.padStart(Long.toString(-(long) number), 9, '0')
        : Strings.padStart(Integer.toString(number), 10, '0');
  }

  /** Parses a name; empty if no lock client created the node. */
  static Optional<NodeName> parse(String name) {
    Matcher matcher = NAME.matcher(name);
    return matcher.matches() ? share(matcher).map(share -> of(matcher, share)) : Optional.empty();
  }

  private static NodeName of(Matcher name, Share share) {
    long number = Long.parseLong(name.group(5));
    return new NodeName(
        name.group(),
        name.group(1),
        share,
        number < 0 || number > Integer.MAX_VALUE ? Integer.MAX_VALUE : (int) number);
  }

  private static Optional<Share> share(Matcher name) {
    String kind = name.group(2);
    if (kind == null) {
      return Optional.of(Share.EXCLUSIVE);
    }
    if (kind.equals("read")) {
      return Optional.of(Share.READ);
    }
    if (kind.equals("write")) {
      return Optional.of(Share.WRITE);
    }
    long permits = Long.parseLong(name.group(3));
    long limit = Long.parseLong(name.group(4));
    return permits <= limit && limit <= Integer.MAX_VALUE
        ? Optional.of(Share.ofSemaphore((int) permits, (int) limit))
        : Optional.empty();
  }

  /** Whether the claim takes some, but not all, permits of a semaphore. */
  boolean isSomePermits() {
    return share.kind() == LockKind.SEMAPHORE && !share.isWhole();
  }

  boolean isBeyondMaxNumber() {
    return number > MAX_NUMBER;
  }

  /** Whether the lock's node should be replaced when its queue is empty. */
  boolean isHalfUsedUp() {
    return number > MAX_NUMBER / 2;
  }

  @Override
  public int compareTo(NodeName other) {
    return Integer.compare(number, other.number);
  }
}
