package dev.interlock.redlock;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.LockBackend.Watch;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A watch that begins only if it is still of use after a while: where a lock changes hands faster
 * than that, a subscription to all nodes costs more than looking again.
 */
final class LaterWatch implements Watch {

  private static final Duration WHILE = Duration.ofMillis(10);

  private final Supplier<Watch> watches;
  private final Future<?> beginning;

  @GuardedBy("this")
  private @Nullable Watch begun;

  @GuardedBy("this")
  private boolean closed;

  LaterWatch(Cluster cluster, Supplier<Watch> watches) {
    this.watches = watches;
    this.beginning = cluster.later(WHILE, this::begin);
  }

  private synchronized void begin() {
    if (!closed) {
      begun = watches.get();
    }
  }

  @Override
  public void close() {
    beginning.cancel(false);
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
