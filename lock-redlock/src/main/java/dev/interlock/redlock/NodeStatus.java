package dev.interlock.redlock;

/**
 * What a node is in its cluster: it votes as long as its record names the server process that it is
 * now.
 *
 * @param kind what the record says
 * @param run the process that was asked: Redis's {@code run_id}, another one after each start
 * @param floor the highest fence that the node knows to have been handed out, or 0
 * @param leftMillis for how long its quarantine goes on
 * @param counted whether its record says how many nodes there are
 */
record NodeStatus(Kind kind, String run, long floor, long leftMillis, boolean counted) {

  enum Kind {
    /** It votes. */
    MEMBER,
    /** It has started anew, or lost its record, and waits until what it forgot has ended. */
    QUARANTINED,
    /** It voted in a former life: it was restarted, and has its data or most of it. */
    RESTARTED,
    /**
     * It has no record, or one that says no more than how many nodes there are: it is new, or has
     * lost everything.
     */
    BLANK,
    /** It did not answer. */
    UNREACHABLE
  }

  static final NodeStatus UNREACHABLE = new NodeStatus(Kind.UNREACHABLE, "", 0, 0);

  /** A standing in a cluster whose number is known. */
  NodeStatus(Kind kind, String run, long floor, long leftMillis) {
    this(kind, run, floor, leftMillis, true);
  }

  /** Whether it has a record of version 0.1, which did not write the number of nodes. */
  boolean isOfVersion01() {
    return (kind == Kind.MEMBER || kind == Kind.RESTARTED) && !counted;
  }

  boolean is(Kind other) {
    return kind == other;
  }

  /** Whether it may vote, and has not granted any lock since it came to this cluster. */
  boolean hasNeverGranted() {
    return kind == Kind.MEMBER && floor == 0;
  }

  /** Whether the quarantine is over. */
  boolean hasServed() {
    return kind == Kind.QUARANTINED && leftMillis <= 0;
  }
}
