package dev.interlock.redlock;

import java.util.concurrent.ThreadLocalRandom;

/**
 * The fence from which nodes start if they have forgotten a name: the client's wall clock, in
 * sixteenths of a millisecond. All nodes get the same hint, so that they agree on the token at
 * once. Correctness does not depend on the hint: whatever the clients' clocks show, nodes never go
 * below their floor.
 */
final class Hint {

  static final long PER_MILLISECOND = 16;

  /** The limit above which a double cannot represent tokens, which also count handoffs. */
  private static final long TOO_HIGH = 1L << 46;

  private Hint() {}

  /** Returns a hint. Ignores a clock that is centuries ahead: it would use up all tokens. */
  static long at(long wallMillis) {
    long hint = wallMillis * PER_MILLISECOND;
    return wallMillis > 0 && wallMillis < TOO_HIGH / PER_MILLISECOND ? hint : 1;
  }

  /**
   * Returns a hint for a claim that can hold a name together with others. Such claims rarely reach
   * the nodes in the same order. If their hints differ, most of them get the same fence from all
   * nodes nevertheless.
   */
  static long forReaderAt(long wallMillis) {
    return at(wallMillis) + ThreadLocalRandom.current().nextLong(PER_MILLISECOND);
  }
}
