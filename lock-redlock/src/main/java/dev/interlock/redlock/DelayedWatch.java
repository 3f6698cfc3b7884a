package dev.interlock.redlock;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.LockBackend.Watch;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A watch that begins after a delay: where a lock changes hands faster than that, a subscription to
 * all nodes costs more than polling.
 */
final class DelayedWatch implements Watch {

  private static final long DELAY_MILLIS = 10;

  private final Supplier<Watch> watches;
  private final CompletableFuture<Void> delay;

  @GuardedBy("this")
  private @Nullable Watch begun;

  @GuardedBy("this")
  private boolean closed;

  DelayedWatch(Supplier<Watch> watches) {
    this.watches = watches;
    this.delay = new CompletableFuture<Void>().completeOnTimeout(null, DELAY_MILLIS, MILLISECONDS);
    var unused = delay.thenRun(this::begin);
  }

  private synchronized void begin() {
    if (!closed) {
      begun = watches.get();
    }
  }

  @Override
  public void close() {
    delay.cancel(false);
    Watch watch;
    synchronized (this) {
      closed = true;
      watch = begun;
    }
    if (watch != null) {
      watch.close();
    }
  }
}
