package dev.interlock.redlock;

import java.util.concurrent.ThreadLocalRandom;

/**
 * Where the fences of a forgotten name begin: the client's wall clock, in sixteenths of a
 * millisecond. All nodes get the same hint, so that they agree on the token at once. Nothing
 * depends on it: whatever the clients' clocks show, nodes never go below their floor.
 */
final class Hint {

  static final long PER_MILLISECOND = 16;

  /** The first fence whose tokens a double cannot hold, once handoffs are counted in them. */
  private static final long TOO_HIGH = 1L << 46;

  private Hint() {}

  /** Ignores a clock that is centuries ahead, which would use up the tokens of all clients. */
  static long at(long wallMillis) {
    long hint = wallMillis * PER_MILLISECOND;
    return wallMillis > 0 && wallMillis < TOO_HIGH / PER_MILLISECOND ? hint : 1;
  }

  /**
   * Returns a hint for claims that can hold a name together. They rarely reach the nodes in the
   * same order; with different hints, most of them get the same fence from all nodes nevertheless.
   */
  static long amongOthersAt(long wallMillis) {
    return at(wallMillis) + ThreadLocalRandom.current().nextLong(PER_MILLISECOND);
  }
}
