package dev.interlock.storm.workers;

import java.time.Duration;

/**
 * Measures the time in which this process runs. Each check adds at most 100 ms, however long the
 * process was stopped or starved since the previous check.
 */
public final class RunningTime {
  private static final long MAX_STEP_NANOS = Duration.ofMillis(100).toNanos();

  private long lastCheck = System.nanoTime();
  private long passed;

  /** {@return whether less than the limit has passed} Must be called every few milliseconds. */
  public boolean isWithin(Duration limit) {
    long now = System.nanoTime();
    passed += Math.min(MAX_STEP_NANOS, now - lastCheck);
    lastCheck = now;
    return passed < limit.toNanos();
  }
}
