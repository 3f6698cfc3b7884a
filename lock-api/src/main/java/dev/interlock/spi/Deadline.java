package dev.interlock.spi;

import java.time.Duration;

/** A point in time on the monotonic clock. Immutable. */
public final class Deadline {

  // Half of the range that differences of nanoTime can express: about 146 years.
  private static final long MAX_NANOS = Long.MAX_VALUE / 2;
  private static final Duration MAX_DURATION = Duration.ofNanos(MAX_NANOS);

  private final TimeSource time;
  private final long nanos;

  private Deadline(TimeSource time, long nanos) {
    this.time = time;
    this.nanos = nanos;
  }

  /**
   * Returns the deadline that is the given time from now.
   *
   * @param time the clock
   * @param duration the time from now; more than 146 years count as 146
   * @return the deadline
   */
  public static Deadline in(TimeSource time, Duration duration) {
    return at(time, time.nanoTime() + saturatedNanos(duration));
  }

  /**
   * Returns the deadline at the given time.
   *
   * @param time the clock
   * @param nanos a time of {@link TimeSource#nanoTime()}
   * @return the deadline
   */
  public static Deadline at(TimeSource time, long nanos) {
    return new Deadline(time, nanos);
  }

  /**
   * Returns a deadline that is never reached in practice.
   *
   * @param time the clock
   * @return the deadline
   */
  public static Deadline never(TimeSource time) {
    return at(time, time.nanoTime() + MAX_NANOS);
  }

  /** {@return the deadline as a time of {@link TimeSource#nanoTime()}} */
  public long nanos() {
    return nanos;
  }

  /** {@return the remaining time in nanoseconds, 0 or negative if the deadline has passed} */
  public long remainingNanos() {
    return nanos - time.nanoTime();
  }

  /** {@return the remaining time, zero if the deadline has passed} */
  public Duration remaining() {
    return Duration.ofNanos(Math.max(0, remainingNanos()));
  }

  /** {@return whether the deadline has passed} */
  public boolean hasPassed() {
    return remainingNanos() <= 0;
  }

  /**
   * Returns the earlier of this deadline and the one that is the given time from now.
   *
   * @param duration the time from now
   * @return the earlier deadline
   */
  public Deadline atMost(Duration duration) {
    Deadline other = in(time, duration);
    return other.nanos - nanos < 0 ? other : this;
  }

  @Override
  public String toString() {
    return "in " + Duration.ofNanos(remainingNanos());
  }

  private static long saturatedNanos(Duration duration) {
    return duration.compareTo(MAX_DURATION) > 0 ? MAX_NANOS : duration.toNanos();
  }
}
