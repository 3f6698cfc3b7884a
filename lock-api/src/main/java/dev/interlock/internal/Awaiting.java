package dev.interlock.internal;

import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.util.concurrent.CompletableFuture;

/** Waits for futures on a client's own clock. */
final class Awaiting {

  private Awaiting() {}

  /** Returns whether it was done by the deadline. */
  static boolean done(TimeSource time, CompletableFuture<?> future, Deadline deadline)
      throws InterruptedException {
    if (future.isDone()) {
      return true;
    }
    WakeUp wakeUp = new WakeUp(time);
    var unused = future.whenComplete((value, failure) -> wakeUp.signal());
    return wakeUp.await(deadline);
  }

  /** The same, without reacting to an interrupt, whose status is kept. */
  static boolean doneUninterruptibly(
      TimeSource time, CompletableFuture<?> future, Deadline deadline) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return done(time, future, deadline);
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

  /** Waits without limit for what does not fail; keeps the interrupt status. */
  static <T> T join(TimeSource time, CompletableFuture<T> future) {
    doneUninterruptibly(time, future, Deadline.never(time));
    return future.join();
  }
}
