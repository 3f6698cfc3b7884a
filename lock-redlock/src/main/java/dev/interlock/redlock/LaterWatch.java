package dev.interlock.redlock;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.LockBackend.Watch;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A watch that begins only if it is still of use after a while: where a lock changes hands faster
 * than that, a subscription to all nodes costs more than looking again.
 */
final class LaterWatch implements Watch {

  private static final long WHILE_MILLIS = 10;

  private final Supplier<Watch> watches;
  private final CompletableFuture<Void> pause;

  @GuardedBy("this")
  private @Nullable Watch begun;

  @GuardedBy("this")
  private boolean closed;

  LaterWatch(Supplier<Watch> watches) {
    this.watches = watches;
    this.pause = new CompletableFuture<Void>().completeOnTimeout(null, WHILE_MILLIS, MILLISECONDS);
    var unused = pause.thenRun(this::begin);
  }

  private synchronized void begin() {
    if (!closed) {
      begun = watches.get();
    }
  }

  @Override
  public void close() {
    pause.cancel(false);
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
