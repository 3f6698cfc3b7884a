package dev.interlock.spi;

import java.time.Duration;

/** A moment on the monotonic clock by which something must be done. Immutable. */
public final class Deadline {

  // Half of the range that differences of nanoTime can express: about 146 years.
  private static final long FAR = Long.MAX_VALUE / 2;
  private static final Duration LONGEST = Duration.ofNanos(FAR);

  private final TimeSource time;
  private final long nanos;

  private Deadline(TimeSource time, long nanos) {
    this.time = time;
    this.nanos = nanos;
  }

  /**
   * The moment that comes after the given time from now.
   *
   * @param time the clock
   * @param duration how long from now; more than 146 years count as 146
   * @return the deadline
   */
  public static Deadline in(TimeSource time, Duration duration) {
    return at(time, time.nanoTime() + saturatedNanos(duration));
  }

  /**
   * The given moment.
   *
   * @param time the clock
   * @param nanos a time of {@link TimeSource#nanoTime()}
   * @return the deadline
   */
  public static Deadline at(TimeSource time, long nanos) {
    return new Deadline(time, nanos);
  }

  /**
   * A moment that is never reached in practice.
   *
   * @param time the clock
   * @return the deadline
   */
  public static Deadline never(TimeSource time) {
    return at(time, time.nanoTime() + FAR);
  }

  /**
   * Returns the moment as a time of {@link TimeSource#nanoTime()}.
   *
   * @return nanoseconds
   */
  public long nanos() {
    return nanos;
  }

  /**
   * Returns how long it is until then.
   *
   * @return nanoseconds, 0 or negative if it has passed
   */
  public long remainingNanos() {
    return nanos - time.nanoTime();
  }

  /**
   * Returns how long it is until then.
   *
   * @return the time left, zero if it has passed
   */
  public Duration remaining() {
    return Duration.ofNanos(Math.max(0, remainingNanos()));
  }

  /**
   * Returns whether the moment has come.
   *
   * @return whether it has passed
   */
  public boolean hasPassed() {
    return remainingNanos() <= 0;
  }

  /**
   * Returns the earlier of this and the moment that comes after the given time from now.
   *
   * @param duration how long from now
   * @return the earlier deadline
   */
  public Deadline orIn(Duration duration) {
    Deadline other = in(time, duration);
    return other.nanos - nanos < 0 ? other : this;
  }

  @Override
  public String toString() {
    return "in " + Duration.ofNanos(remainingNanos());
  }

  private static long saturatedNanos(Duration duration) {
    return duration.compareTo(LONGEST) > 0 ? FAR : duration.toNanos();
  }
}
