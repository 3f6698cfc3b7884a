package dev.interlock.tck.specimen;

import dev.interlock.spi.TimeSource;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A clock that a specimen makes stand still while it waits for an answer. A client with it counts
 * from the answer what should be counted from the request.
 */
public final class StoppableClock implements TimeSource {
  private final TimeSource right;
  private final AtomicLong stopped = new AtomicLong();

  /**
   * Makes a clock that goes right until it is stopped.
   *
   * @param right the right time
   */
  public StoppableClock(TimeSource right) {
    this.right = right;
  }

  /**
   * Takes back what has passed since a moment.
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
