package dev.interlock.peers;

import java.time.Duration;

/** A lease time, counted from before the request for the lock. */
record LeaseTime(Duration duration, long requestedAt) {

  static LeaseTime startingNow(Duration duration) {
    return new LeaseTime(duration, System.nanoTime());
  }

  Duration remaining() {
    Duration remaining = duration.minusNanos(System.nanoTime() - requestedAt);
    return remaining.isNegative() ? Duration.ZERO : remaining;
  }
}
