package dev.interlock.internal;

/**
 * Room on the stack for an acquisition, or for the end of a lease. An acquisition that ran out of
 * stack between the store's grant and its caller would keep the lock for nobody, and what should
 * undo it would run out of stack as well; a release would leave the lock half released, and the
 * timer of the whole client in pieces. So the error is met before anything has begun.
 */
final class StackRoom {

  /**
   * Some 25 KB in compiled code, and some 50 KB before that, as what follows needs more then too.
   */
  private static final int DEPTH = 256;

  private StackRoom() {}

  /**
   * Throws now rather than later.
   *
   * @throws StackOverflowError if there is little room left
   */
  static void require() {
    if (descend(DEPTH, 1, 2, 3, 4) == 0) {
      throw new IllegalStateException("the sum of positive numbers is positive");
    }
  }

  // The arguments are needed again after the call, so that every frame has to keep them.
  private static long descend(int depth, long a, long b, long c, long d) {
    return depth == 0 ? a : descend(depth - 1, b, c, d, a) + (a ^ b) + (c ^ d);
  }
}
