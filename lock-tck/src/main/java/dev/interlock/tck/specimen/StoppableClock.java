package dev.interlock.tck.specimen;

import dev.interlock.spi.TimeSource;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A clock that a specimen stops while it waits for an answer. A client with this clock counts
 * validity from the answer instead of from the request.
 */
public final class StoppableClock implements TimeSource {
  private final TimeSource right;
  private final AtomicLong stopped = new AtomicLong();

  /**
   * Creates a clock that is right until it is stopped.
   *
   * @param right the right clock
   */
  public StoppableClock(TimeSource right) {
    this.right = right;
  }

  /**
   * Sets the clock back to a moment.
   *
   * @param nanos the moment, by the right clock's {@link TimeSource#nanoTime()}
   */
  public void stoodStillSince(long nanos) {
    stopped.addAndGet(right.nanoTime() - nanos);
  }

  @Override
  public long nanoTime() {
    return right.nanoTime() - stopped.get();
  }

  @Override
  public long wallMillis() {
    return right.wallMillis() - stopped.get() / 1_000_000;
  }

  @Override
  public void parkUntil(Object blocker, long untilNanos) {
    right.parkUntil(blocker, untilNanos + stopped.get());
  }
}
