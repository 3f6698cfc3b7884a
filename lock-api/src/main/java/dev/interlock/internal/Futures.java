package dev.interlock.internal;

import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.util.concurrent.CompletableFuture;

/** Waits for futures on a client's own clock. */
final class Futures {

  private Futures() {}

  /** Waits until the future is done; false if the deadline passed first. */
  static boolean await(TimeSource time, CompletableFuture<?> future, Deadline deadline)
      throws InterruptedException {
    if (future.isDone()) {
      return true;
    }
    WakeUp wakeUp = new WakeUp(time);
    var unused = future.whenComplete((value, failure) -> wakeUp.signal());
    return wakeUp.await(deadline);
  }

  /** Waits like {@link #await}, but ignores interrupts and restores the interrupt status. */
  static boolean awaitUninterruptibly(
      TimeSource time, CompletableFuture<?> future, Deadline deadline) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return await(time, future, deadline);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Waits without a limit for a future that never fails; restores the interrupt status. */
  static <T> T join(TimeSource time, CompletableFuture<T> future) {
    awaitUninterruptibly(time, future, Deadline.never(time));
    return future.join();
  }
}
