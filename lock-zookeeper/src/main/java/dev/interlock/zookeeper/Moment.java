package dev.interlock.zookeeper;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import dev.interlock.spi.TimeSource;
import java.time.Duration;

/**
 * A time by both clocks. The monotonic one, which counts, may stand still while the machine sleeps;
 * the servers' go on.
 *
 * @param nanos the time by the monotonic clock
 * @param offset how far the wall clock was ahead of it, or more
 */
record Moment(long nanos, long offset) {

  static Moment now(TimeSource time) {
    return at(time.nanoTime(), time);
  }

  /** A time by the monotonic clock of this moment. */
  static Moment at(long nanos, TimeSource time) {
    long now = time.nanoTime();
    return new Moment(nanos, MILLISECONDS.toNanos(time.wallMillis() + 1) - now);
  }

  /** A time that tells nothing. */
  static Moment longBefore(TimeSource time) {
    return at(time.nanoTime() - Duration.ofDays(1).toNanos(), time);
  }

  /** When it was by a monotonic clock that shows the same now, and has not stood still since. */
  long seenFromNow(TimeSource time) {
    // The wall clock first: a pause between the two readings must not be taken for sleep.
    long wall = MILLISECONDS.toNanos(time.wallMillis());
    return nanos - Math.max(0, wall - time.nanoTime() - offset);
  }
}
