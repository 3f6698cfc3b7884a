package dev.interlock.redlock;

/**
 * The state of a node in its cluster. It votes as long as its record names its current server
 * process.
 *
 * @param kind what the record says
 * @param run the process that answered: Redis's {@code run_id}, which changes with each start
 * @param floor the highest fence that the node has handed out or heard of, or 0
 * @param leftMillis the rest of its quarantine
 * @param counted whether its record has the number of nodes
 */
record NodeStatus(Kind kind, String run, long floor, long leftMillis, boolean counted) {

  enum Kind {
    /** It votes. */
    MEMBER,
    /** It was restarted or lost its record, and waits until the locks it forgot have expired. */
    QUARANTINED,
    /** It was restarted, and has all or most of its data. */
    RESTARTED,
    /**
     * It has no record, or one with nothing but the number of nodes: it is new, or has lost all
     * data.
     */
    BLANK,
    /** It did not answer. */
    UNREACHABLE
  }

  static final NodeStatus UNREACHABLE = new NodeStatus(Kind.UNREACHABLE, "", 0, 0);

  /** The status of a node that knows the number of nodes. */
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

  /** Whether it may vote, and has not granted any lock since it joined the cluster. */
  boolean hasNeverGranted() {
    return kind == Kind.MEMBER && floor == 0;
  }

  /** Whether the quarantine is over. */
  boolean hasServed() {
    return kind == Kind.QUARANTINED && leftMillis <= 0;
  }
}
