package dev.interlock.peers;

import java.time.Duration;

/** How long a lock with a fixed lease time is certain, counted from before it was asked for. */
record LeaseTime(Duration whole, long askedAt) {

  static LeaseTime startingNow(Duration whole) {
    return new LeaseTime(whole, System.nanoTime());
  }

  Duration left() {
    Duration left = whole.minusNanos(System.nanoTime() - askedAt);
    return left.isNegative() ? Duration.ZERO : left;
  }
}
