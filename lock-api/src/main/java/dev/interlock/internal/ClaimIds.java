package dev.interlock.internal;

import java.util.Base64;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What makes the identities of attempts unique: 96 random bits, a count of 30 bits, and the last 36
 * bits of the time in nanoseconds. Random bits and count keep attempts apart, those of all clients
 * anywhere.
 *
 * <p>A process that was restored from a snapshot more than once, or a virtual machine that was
 * cloned, shares random bits and count with its clones. So new random bits are drawn when either
 * clock has left the second that began with the last draw: when the process resumes later, on a
 * machine with another clock, or just continues. Until then the time distinguishes the clones.
 */
final class ClaimIds {

  private static final int RANDOM_BYTES = 12;
  private static final long LONGEST_MILLIS = 1_000;
  private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(LONGEST_MILLIS);
  private static final int NUMBERS = 1 << 30;

  /** The count since one draw. A second is too short for more than 2^30 attempts. */
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

    /** Compared without sign: a clock may also have been set back. */
    private boolean isCurrent(long atNanos, long atMillis) {
      return Long.compareUnsigned(atNanos - nanos, LONGEST_NANOS) < 0
          && Long.compareUnsigned(atMillis - millis, LONGEST_MILLIS) < 0;
    }

    /** The number of the next claim. */
    int next() {
      return count.getAndIncrement() & (NUMBERS - 1);
    }
  }

  private final Platform platform;
  private volatile Series series;

  ClaimIds(Platform platform) {
    this.platform = platform;
    this.series = new Series(platform, platform.nanoTime(), platform.wallMillis());
  }

  /** The one for a claim that is made at the given time by both clocks. */
  Series series(long millis, long nanos) {
    Series current = series;
    if (!current.isCurrent(nanos, millis)) {
      // Threads that get here together draw one each, and one of these stays.
      current = new Series(platform, nanos, millis);
      series = current;
    }
    return current;
  }
}
