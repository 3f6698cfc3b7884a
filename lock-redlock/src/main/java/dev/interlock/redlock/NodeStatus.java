package dev.interlock.redlock;

import java.util.List;

/**
 * The state of a node in its cluster. A node votes as long as its record names its current server
 * process.
 *
 * @param kind the state that the record describes
 * @param run the process that answered: Redis's {@code run_id}, which changes with each start
 * @param floor the highest fence that the node has given or received, or 0
 * @param remainingMillis the rest of its quarantine
 * @param counted whether its record contains the number of nodes
 */
record NodeStatus(Kind kind, String run, long floor, long remainingMillis, boolean counted) {

  enum Kind {
    /** The node votes. */
    MEMBER,
    /** The node was restarted or lost its record, and waits until forgotten locks have expired. */
    QUARANTINED,
    /** The node was restarted, and still has its record. */
    RESTARTED,
    /**
     * The node has no record, or a record that contains only the number of nodes. It is new, or has
     * lost all data.
     */
    BLANK,
    /** The node did not answer. */
    UNREACHABLE
  }

  static final NodeStatus UNREACHABLE = new NodeStatus(Kind.UNREACHABLE, "", 0, 0);

  /** Creates the status of a node whose record contains the number of nodes. */
  NodeStatus(Kind kind, String run, long floor, long remainingMillis) {
    this(kind, run, floor, remainingMillis, true);
  }

  /** Whether the node has a record of version 0.1, which did not write the number of nodes. */
  boolean isOfVersion01() {
    return (kind == Kind.MEMBER || kind == Kind.RESTARTED) && !counted;
  }

  /**
   * Reads the reply of {@code examine.lua}.
   *
   * @param run the process that answered
   */
  static NodeStatus read(List<?> reply, String run) {
    return new NodeStatus(
        switch (Round.text(reply.get(0))) {
          case "member" -> Kind.MEMBER;
          case "quarantined" -> Kind.QUARANTINED;
          case "restarted" -> Kind.RESTARTED;
          default -> Kind.BLANK;
        },
        run,
        Long.parseLong(Round.text(reply.get(1))),
        (Long) reply.get(2),
        !nodeCount(reply).isEmpty());
  }

  /** Returns the longest TTL in a reply of {@code examine.lua}, in ms; empty if it is not known. */
  static String maxTtl(List<?> reply) {
    return Round.text(reply.get(3));
  }

  /** Returns the number of nodes in a reply of {@code examine.lua}; empty if it is not known. */
  static String nodeCount(List<?> reply) {
    return Round.text(reply.get(4));
  }

  static long countReachable(List<NodeStatus> statuses) {
    return statuses.stream().filter(status -> !status.is(Kind.UNREACHABLE)).count();
  }

  boolean is(Kind other) {
    return kind == other;
  }

  /** Whether the node votes, and has never granted a lock. */
  boolean hasNeverGranted() {
    return kind == Kind.MEMBER && floor == 0;
  }

  /** Whether the quarantine is over. */
  boolean hasServed() {
    return kind == Kind.QUARANTINED && remainingMillis <= 0;
  }
}
