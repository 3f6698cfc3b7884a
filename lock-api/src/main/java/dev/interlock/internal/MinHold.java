package dev.interlock.internal;

import dev.interlock.spi.Deadline;
import java.time.Duration;

/**
 * The minimum hold of a lease: a release before its end is deferred. The client asks the store to
 * release the lock by itself at the end. Until the store confirms that, or if it cannot, the client
 * keeps the lock. Guarded by the monitor of the grant.
 */
final class MinHold {

  // The store's clock may be faster by one part in this many: twice the maximum rate at which NTP
  // slews a clock.
  private static final int DRIFT_DIVISOR = 1000;

  private final Platform platform;
  private final long end;

  /** Whether the store may have deferred a release, or may still receive the request to. */
  private boolean inDoubt;

  /**
   * The time at which the client releases a lock that it keeps, or asks the store again to keep it.
   */
  private long nextRelease;

  /** The pause before the client asks again, in nanoseconds; 0 before it keeps the lock. */
  private long pause;

  MinHold(Platform platform, Duration time) {
    this.platform = platform;
    this.end = Deadline.in(platform, time).nanos();
  }

  long end() {
    return end;
  }

  boolean isOver() {
    return end - platform.nanoTime() <= 0;
  }

  /** Returns the remaining time by the store's clock, in whole nanoseconds; zero if it is over. */
  Duration remainingOnStore() {
    long nanos = Math.max(0, end - platform.nanoTime());
    return Duration.ofNanos(nanos + nanos / DRIFT_DIVISOR);
  }

  /**
   * Records that the store may have deferred the release: from here on it may end the grant at any
   * moment.
   */
  void markInDoubt() {
    inDoubt = true;
  }

  boolean isInDoubt() {
    return inDoubt;
  }

  /**
   * Plans the release of a lock that the client keeps.
   *
   * @param asksAgain whether the client asks the store again to keep it, after growing pauses
   */
  void planRelease(boolean asksAgain, long firstPause, long maxPause) {
    pause = pause == 0 ? firstPause : Math.min(2 * pause, maxPause);
    nextRelease = asksAgain ? Validity.earlier(end, platform.nanoTime() + pause) : end;
  }

  long nextRelease() {
    return nextRelease;
  }
}
