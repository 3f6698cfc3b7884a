package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import org.jspecify.annotations.Nullable;

/** Lets a task on a shared thread be interrupted while it runs, and the thread never after that. */
final class InterruptibleRun {

  @GuardedBy("this")
  private @Nullable Thread runner;

  @GuardedBy("this")
  private boolean cancelled;

  /** Called by the task first; false if it must not run at all. */
  synchronized boolean begin() {
    if (!cancelled) {
      runner = Thread.currentThread();
    }
    return !cancelled;
  }

  /** Called by the task last; takes back an interrupt that came too late. */
  synchronized void end() {
    runner = null;
    boolean tooLate = Thread.interrupted();
    if (tooLate) {
      Engine.log.trace("cancelled when it had just ended by itself");
    }
  }

  synchronized void cancel() {
    cancelled = true;
    if (runner != null) {
      runner.interrupt();
    }
  }
}
