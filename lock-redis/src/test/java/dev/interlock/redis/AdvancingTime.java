package dev.interlock.redis;

import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** The system's time plus an offset that a test can increase. */
final class AdvancingTime implements TimeSource {

  private final AtomicLong ahead = new AtomicLong();

  /** Moves time forward. Does not wake threads that are blocked elsewhere, as on a socket. */
  void advance(Duration time) {
    ahead.addAndGet(time.toNanos());
  }

  @Override
  public long nanoTime() {
    return Backends.TIME.nanoTime() + ahead.get();
  }

  @Override
  public long wallMillis() {
    return Backends.TIME.wallMillis() + ahead.get() / 1_000_000;
  }

  @Override
  public void parkUntil(Object blocker, long untilNanos) {
    Backends.TIME.parkUntil(blocker, untilNanos - ahead.get());
  }
}
