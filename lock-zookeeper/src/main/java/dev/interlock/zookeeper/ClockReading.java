package dev.interlock.zookeeper;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import dev.interlock.spi.TimeSource;
import java.time.Duration;

/**
 * A time by both clocks. The monotonic clock decides, but it may stop while the machine is
 * suspended, and the servers' clocks do not stop.
 *
 * @param nanos the time by the monotonic clock
 * @param offset an upper bound of how far the wall clock was ahead of the monotonic one
 */
record ClockReading(long nanos, long offset) {

  static ClockReading now(TimeSource time) {
    return at(time.nanoTime(), time);
  }

  /** A time by the monotonic clock, with the current offset. */
  static ClockReading at(long nanos, TimeSource time) {
    long now = time.nanoTime();
    return new ClockReading(nanos, MILLISECONDS.toNanos(time.wallMillis() + 1) - now);
  }

  /** A time so long ago that it proves nothing. */
  static ClockReading longBefore(TimeSource time) {
    return at(time.nanoTime() - Duration.ofDays(1).toNanos(), time);
  }

  /**
   * Returns this time by an imagined monotonic clock that agrees with the real one now, but never
   * stopped.
   */
  long seenFromNow(TimeSource time) {
    // The wall clock first: a pause between the two readings must not be taken for a suspension.
    long wall = MILLISECONDS.toNanos(time.wallMillis());
    return nanos - Math.max(0, wall - time.nanoTime() - offset);
  }
}
