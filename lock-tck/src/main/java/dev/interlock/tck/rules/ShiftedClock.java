package dev.interlock.tck.rules;

import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * The clocks of a machine whose wall clock is ahead of the others'. If the difference grows, the
 * machine has slept: its monotonic clock did not advance.
 */
record ShiftedClock(Supplier<Duration> ahead) implements TimeSource {
  @Override
  public long nanoTime() {
    return TimeSource.system().nanoTime();
  }

  @Override
  public long wallMillis() {
    return TimeSource.system().wallMillis() + ahead.get().toMillis();
  }

  @Override
  public void parkUntil(Object blocker, long untilNanos) {
    TimeSource.system().parkUntil(blocker, untilNanos);
  }
}
