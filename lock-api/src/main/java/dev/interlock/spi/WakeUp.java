package dev.interlock.spi;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A signal that one thread waits for. A signal before the wait is remembered, and several signals
 * count as one. {@link #signal()} never blocks, and any thread may call it.
 */
public final class WakeUp {

  private final TimeSource time;
  private final @Nullable Runnable onSignal;
  private final AtomicBoolean signalled = new AtomicBoolean();
  private volatile @Nullable Thread waiter;

  /**
   * Creates a wake-up that is not signalled.
   *
   * @param time the clock for waits
   */
  public WakeUp(TimeSource time) {
    this(time, null);
  }

  /**
   * Creates a wake-up that is not signalled and has a callback, for waits that occupy no thread.
   *
   * @param time the clock for waits
   * @param onSignal called by the signalling thread, for the first signal since the last one was
   *     consumed; must neither block nor throw; null for no callback
   */
  public WakeUp(TimeSource time, @Nullable Runnable onSignal) {
    this.time = time;
    this.onSignal = onSignal;
  }

  /** Ends the wait in progress, or else the next one. */
  public void signal() {
    if (!signalled.getAndSet(true)) {
      time.unpark(waiter);
      if (onSignal != null) {
        onSignal.run();
      }
    }
  }

  /**
   * Consumes a signal, if there is one, without waiting.
   *
   * @return whether it was signalled
   */
  @CanIgnoreReturnValue
  public boolean consume() {
    return signalled.compareAndSet(true, false);
  }

  /**
   * Waits for a signal, and consumes it. Only one thread may wait at a time.
   *
   * @param deadline the deadline for the wait
   * @return whether it was signalled; false if the deadline passed first
   * @throws InterruptedException if the thread is interrupted before or while waiting; a signal is
   *     then kept
   */
  public boolean await(Deadline deadline) throws InterruptedException {
    waiter = Thread.currentThread();
    try {
      while (true) {
        if (Thread.interrupted()) {
          throw new InterruptedException();
        }
        if (consume()) {
          return true;
        }
        if (deadline.hasPassed()) {
          return false;
        }
        time.parkUntil(this, deadline.nanos());
      }
    } finally {
      waiter = null;
    }
  }
}
