package dev.interlock.internal;

import dev.interlock.spi.TimeSource;
import java.util.concurrent.TimeUnit;

/**
 * A time until which something is certain, by the clock that has advanced further: the monotonic
 * clock, or the wall clock, which also advances while the machine sleeps (LEASE-10). Immutable.
 *
 * @param until the end by the monotonic clock
 * @param clockOffset the {@linkplain #clockOffset(TimeSource) difference of the clocks} at the
 *     beginning; growth since then is sleep
 */
record Validity(long until, long clockOffset) {

  /** A wall clock time at which the machine has never slept. */
  static final long WALL_WITHOUT_SLEEP = 0;

  /**
   * Returns the wall clock minus the monotonic clock, in nanoseconds, which grows when the machine
   * sleeps. It is rounded up, because the wall clock is read in whole milliseconds and its next
   * tick must not look like sleep. So up to two milliseconds of sleep go unnoticed.
   */
  static long clockOffset(long wallMillis, long nanos) {
    return TimeUnit.MILLISECONDS.toNanos(wallMillis + 1) - nanos;
  }

  /** Returns the present difference of the clocks. */
  static long clockOffset(TimeSource time) {
    // The wall clock first: a pause between the two readings must not hide as much sleep.
    long wall = time.wallMillis();
    return clockOffset(wall, time.nanoTime());
  }

  /** Returns the earlier of two times of the monotonic clock. */
  static long earlier(long a, long b) {
    return a - b < 0 ? a : b;
  }

  /** Returns the time for which the machine has slept since the beginning, in nanoseconds. */
  long slept(long wallMillis, long nanos) {
    return Math.max(0, TimeUnit.MILLISECONDS.toNanos(wallMillis) - nanos - clockOffset);
  }

  /** Returns the remaining time at the given time, in nanoseconds; 0 or less if it is over. */
  long remaining(long wallMillis, long nanos) {
    return until - nanos - slept(wallMillis, nanos);
  }

  /** Returns the remaining time now, in nanoseconds; 0 or less if it is over. */
  long remaining(TimeSource time) {
    // The wall clock first: a pause between the two readings must not look like sleep.
    long wall = time.wallMillis();
    return remaining(wall, time.nanoTime());
  }

  /** Returns the same end with the sleep until now subtracted. */
  Validity rebased(long wallMillis, long nanos) {
    return new Validity(until - slept(wallMillis, nanos), clockOffset(wallMillis, nanos));
  }

  /** Returns the validity that ends first, given the time by both clocks. */
  Validity orEarlier(Validity other, long wallMillis, long nanos) {
    return other.remaining(wallMillis, nanos) - remaining(wallMillis, nanos) < 0 ? other : this;
  }
}
