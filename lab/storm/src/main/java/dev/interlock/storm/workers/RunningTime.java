package dev.interlock.storm.workers;

import java.time.Duration;

/**
 * A time that passes only while this process runs. Each check adds at most a moment, however long
 * the process was stopped or starved since the previous check.
 */
public final class RunningTime {
  private static final long MOMENT = Duration.ofMillis(100).toNanos();

  private long last = System.nanoTime();
  private long passed;

  /** Whether less than the limit has passed. Call it every few milliseconds. */
  public boolean isWithin(Duration limit) {
    long now = System.nanoTime();
    passed += Math.min(MOMENT, now - last);
    last = now;
    return passed < limit.toNanos();
  }
}
