package dev.interlock.tck.specimen;

import dev.interlock.spi.TimeSource;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A clock that a specimen sets back after it has waited for an answer. A client with this clock
 * counts validity from the answer instead of from the request.
 */
public final class StoppableClock implements TimeSource {
  private final TimeSource delegate;
  private final AtomicLong behindNanos = new AtomicLong();

  /**
   * Creates a clock that agrees with a correct one until it is set back.
   *
   * @param delegate the correct clock
   */
  public StoppableClock(TimeSource delegate) {
    this.delegate = delegate;
  }

  /**
   * Sets the clock back.
   *
   * @param nanos the time to show, by the {@link TimeSource#nanoTime()} of the correct clock
   */
  public void setBackTo(long nanos) {
    behindNanos.addAndGet(delegate.nanoTime() - nanos);
  }

  @Override
  public long nanoTime() {
    return delegate.nanoTime() - behindNanos.get();
  }

  @Override
  public long wallMillis() {
    return delegate.wallMillis() - behindNanos.get() / 1_000_000;
  }

  @Override
  public void parkUntil(Object blocker, long untilNanos) {
    delegate.parkUntil(blocker, untilNanos + behindNanos.get());
  }
}
