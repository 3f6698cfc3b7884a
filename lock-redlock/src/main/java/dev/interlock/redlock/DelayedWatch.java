package dev.interlock.redlock;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.DelayedTasks;
import dev.interlock.spi.LockBackend.Watch;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A watch that begins after a delay. If a lock changes hands faster than that, subscribing to all
 * nodes costs more than polling.
 */
final class DelayedWatch implements Watch {

  private static final Duration DELAY = Duration.ofMillis(10);

  private final Supplier<Watch> watches;
  private final Future<?> start;

  @GuardedBy("this")
  private @Nullable Watch delegate;

  @GuardedBy("this")
  private boolean closed;

  DelayedWatch(DelayedTasks delayed, Supplier<Watch> watches) {
    this.watches = watches;
    this.start = delayed.run(this::begin, DELAY);
  }

  private synchronized void begin() {
    if (!closed) {
      delegate = watches.get();
    }
  }

  @Override
  public void close() {
    start.cancel(false);
    Watch watch;
    synchronized (this) {
      closed = true;
      watch = delegate;
    }
    if (watch != null) {
      watch.close();
    }
  }
}
