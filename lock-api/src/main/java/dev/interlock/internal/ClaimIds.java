package dev.interlock.internal;

import java.util.Base64;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The source of unique claim identities: 96 random bits, a count of 30 bits, and the last 36 bits
 * of the time in nanoseconds. The random bits and the count keep all attempts of all clients apart.
 *
 * <p>Clones of a process, restored from one snapshot, or of a virtual machine, share the random
 * bits and the count. So new random bits are drawn a second after the last draw, by either clock:
 * when the process resumes later, on a machine with another clock, or simply continues. Until then
 * the time distinguishes the clones.
 */
final class ClaimIds {

  private static final int RANDOM_BYTES = 12;
  private static final long MAX_SERIES_AGE_MILLIS = 1_000;
  private static final long MAX_SERIES_AGE_NANOS =
      TimeUnit.MILLISECONDS.toNanos(MAX_SERIES_AGE_MILLIS);
  private static final int COUNT_LIMIT = 1 << 30;

  /**
   * The claims made with one draw of random bits. A second is too short for more than 2^30
   * attempts.
   */
  static final class Series {
    /** The random bits. */
    final String name;

    private final long nanos;
    private final long millis;
    private final AtomicInteger count = new AtomicInteger();

    Series(Platform platform, long nanos, long millis) {
      this.name =
          Base64.getUrlEncoder().withoutPadding().encodeToString(platform.unique(RANDOM_BYTES));
      this.nanos = nanos;
      this.millis = millis;
    }

    /** Compared as unsigned numbers, because a clock may also have been set back. */
    private boolean isCurrent(long atNanos, long atMillis) {
      return Long.compareUnsigned(atNanos - nanos, MAX_SERIES_AGE_NANOS) < 0
          && Long.compareUnsigned(atMillis - millis, MAX_SERIES_AGE_MILLIS) < 0;
    }

    int next() {
      return count.getAndIncrement() & (COUNT_LIMIT - 1);
    }
  }

  private final Platform platform;
  private volatile Series series;

  ClaimIds(Platform platform) {
    this.platform = platform;
    this.series = new Series(platform, platform.nanoTime(), platform.wallMillis());
  }

  /** Returns the series for a claim that is made at the given time by both clocks. */
  Series series(long millis, long nanos) {
    Series current = series;
    if (!current.isCurrent(nanos, millis)) {
      // Threads that get here together each draw a series, and one of these stays.
      current = new Series(platform, nanos, millis);
      series = current;
    }
    return current;
  }
}
