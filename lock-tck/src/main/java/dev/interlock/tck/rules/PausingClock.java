package dev.interlock.tck.rules;

import dev.interlock.spi.TimeSource;
import java.time.Duration;

/**
 * The clocks of a process that is stopped for a while when one of its threads comes to a certain
 * reading of the monotonic clock: for all of its threads that time passes at once.
 */
final class PausingClock implements TimeSource {
  private final Thread thread = Thread.currentThread();
  private int left;
  private Duration pause = Duration.ZERO;
  private volatile Duration paused = Duration.ZERO;

  /** Pauses when the thread that has made this clock has read it as many times. */
  void pauseAfter(int readings, Duration howLong) {
    left = readings;
    pause = howLong;
  }

  /** Whether that pause is over. */
  boolean hasPaused() {
    return pause.isZero();
  }

  @Override
  public long nanoTime() {
    if (Thread.currentThread() == thread && left-- == 0) {
      paused = paused.plus(pause);
      pause = Duration.ZERO;
    }
    return TimeSource.system().nanoTime() + paused.toNanos();
  }

  @Override
  public long wallMillis() {
    return TimeSource.system().wallMillis() + paused.toMillis();
  }

  @Override
  public void parkUntil(Object blocker, long untilNanos) {
    TimeSource.system().parkUntil(blocker, untilNanos - paused.toNanos());
  }
}
