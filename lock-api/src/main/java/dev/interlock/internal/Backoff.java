package dev.interlock.internal;

import java.time.Duration;

/**
 * Growing pauses between tries at a failing store: from 20 ms, doubled each time, up to a tenth of
 * the TTL (at most 2 s). Each is shortened at random by up to a half, so that clients do not retry
 * in step.
 */
final class Backoff {

  private static final long FIRST_PAUSE = Duration.ofMillis(20).toNanos();
  private static final long MAX_PAUSE = Duration.ofSeconds(2).toNanos();

  private final Platform platform;
  private final Duration ttl;
  private long next = FIRST_PAUSE;

  Backoff(Platform platform, Duration ttl) {
    this.platform = platform;
    this.ttl = ttl;
  }

  /** Returns the next pause without allocating memory. */
  long nextNanos() {
    return nextNanos(ttl);
  }

  private long nextNanos(Duration ttl) {
    long cap = Math.max(FIRST_PAUSE / 4, Math.min(MAX_PAUSE, ttl.toNanos() / 10));
    long pause = Math.min(next, cap);
    next = Math.min(next * 2, MAX_PAUSE);
    return pause - platform.random(pause / 2 + 1);
  }

  Duration next() {
    return Duration.ofNanos(nextNanos());
  }

  /** Returns the next pause, for a caller whose TTL differs from that of the constructor. */
  Duration next(Duration ttl) {
    return Duration.ofNanos(nextNanos(ttl));
  }

  void reset() {
    next = FIRST_PAUSE;
  }
}
