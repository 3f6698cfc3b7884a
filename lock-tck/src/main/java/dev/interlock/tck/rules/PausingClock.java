package dev.interlock.tck.rules;

import dev.interlock.spi.TimeSource;
import java.time.Duration;

/**
 * The clocks of a process that is stopped for a while at a given reading of the monotonic clock.
 * For all threads the time of the stop passes at once.
 */
final class PausingClock implements TimeSource {
  private static final Duration MAX_PARK = Duration.ofMillis(20);

  private final Thread thread = Thread.currentThread();
  private int readingsLeft;
  private Duration pause = Duration.ZERO;
  private volatile Duration paused = Duration.ZERO;

  /** Pauses after this many further readings by the thread that created the clock. */
  void pauseAfter(int readings, Duration duration) {
    readingsLeft = readings;
    pause = duration;
  }

  /** Pauses now. */
  void pause(Duration duration) {
    paused = paused.plus(duration);
  }

  /** {@return whether the pause has taken place} */
  boolean hasPaused() {
    return pause.isZero();
  }

  @Override
  public long nanoTime() {
    if (Thread.currentThread() == thread && readingsLeft-- == 0) {
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
    TimeSource system = TimeSource.system();
    // A pause that begins meanwhile may make the time come sooner.
    long latest = system.nanoTime() + MAX_PARK.toNanos();
    long until = untilNanos - paused.toNanos();
    system.parkUntil(blocker, until - latest < 0 ? until : latest);
  }
}
