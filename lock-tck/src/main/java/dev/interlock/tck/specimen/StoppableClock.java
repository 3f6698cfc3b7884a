package dev.interlock.tck.specimen;

import dev.interlock.spi.TimeSource;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A clock that a specimen stops while it waits for an answer. A client with this clock counts
 * validity from the answer instead of from the request.
 */
public final class StoppableClock implements TimeSource {
  private final TimeSource delegate;
  private final AtomicLong stopped = new AtomicLong();

  /**
   * Creates a clock that is delegate until it is stopped.
   *
   * @param delegate the delegate clock
   */
  public StoppableClock(TimeSource delegate) {
    this.delegate = delegate;
  }

  /**
   * Sets the clock back to a moment.
   *
   * @param nanos the moment, by the delegate clock's {@link TimeSource#nanoTime()}
   */
  public void setBackTo(long nanos) {
    stopped.addAndGet(delegate.nanoTime() - nanos);
  }

  @Override
  public long nanoTime() {
    return delegate.nanoTime() - stopped.get();
  }

  @Override
  public long wallMillis() {
    return delegate.wallMillis() - stopped.get() / 1_000_000;
  }

  @Override
  public void parkUntil(Object blocker, long untilNanos) {
    delegate.parkUntil(blocker, untilNanos + stopped.get());
  }
}
