package dev.interlock.internal;

import dev.interlock.spi.Deadline;
import java.time.Duration;

/**
 * The minimum hold of a lease: before its end, a release is deferred. The store is asked to release
 * the lock by itself then; until it confirms that, or if it cannot, the client keeps the lock.
 * Guarded by the monitor of the grant.
 */
final class MinHold {

  // By how much the server's clock may be faster; twice the rate at which NTP slews one at most.
  private static final int DRIFT_DIVISOR = 1000;

  private final Platform platform;
  private final long end;

  /** Whether the server may have deferred a release, or may yet receive the request to. */
  private boolean inDoubt;

  /** When the client releases a lock that it keeps, or asks the server again to keep it. */
  private long nextRelease;

  /** How long it waits before it asks again; 0 before it keeps the lock. */
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

  /** Returns the rest by the server's clock, in whole nanoseconds; zero if it is over. */
  Duration rest() {
    long nanos = Math.max(0, end - platform.nanoTime());
    return Duration.ofNanos(nanos + nanos / DRIFT_DIVISOR);
  }

  /** The server may have deferred the release: from here on it may end the grant at any moment. */
  void doubt() {
    inDoubt = true;
  }

  boolean isInDoubt() {
    return inDoubt;
  }

  /**
   * The client keeps the lock.
   *
   * @param asksAgain whether it asks the server again to keep it, after longer pauses each time
   */
  void planRelease(boolean asksAgain, long firstPause, long maxPause) {
    pause = pause == 0 ? firstPause : Math.min(2 * pause, maxPause);
    nextRelease = asksAgain ? Validity.earlier(end, platform.nanoTime() + pause) : end;
  }

  long nextRelease() {
    return nextRelease;
  }
}
