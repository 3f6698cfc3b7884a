package dev.interlock.internal;

import dev.interlock.spi.TimeSource;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A clock that runs an action of the test when a method of the engine reads the time, on the same
 * thread.
 */
final class InterceptedTime implements TimeSource {

  private record Interception(String method, @Nullable Thread thread, Runnable action) {}

  private final ManualTime time;
  private final AtomicReference<@Nullable Interception> next = new AtomicReference<>();

  InterceptedTime(ManualTime time) {
    this.time = time;
  }

  /** Runs the action once, when the method reads the time. */
  void when(String method, Runnable action) {
    next.set(new Interception(method, null, action));
  }

  /** Runs the action once, when the method reads the time on this thread. */
  void whenCalledHere(String method, Runnable action) {
    next.set(new Interception(method, Thread.currentThread(), action));
  }

  /** Whether the action has begun. */
  boolean hasRun() {
    return next.get() == null;
  }

  @Override
  public long nanoTime() {
    Interception due = next.get();
    if (due != null
        && (due.thread() == null || due.thread() == Thread.currentThread())
        && isCalledBy(due.method())
        && next.compareAndSet(due, null)) {
      due.action().run();
    }
    return time.nanoTime();
  }

  private static boolean isCalledBy(String method) {
    return StackWalker.getInstance()
        .walk(
            frames ->
                // The use of the time in claim ids is not a step before which a test could act.
                frames
                    .limit(8)
                    .takeWhile(frame -> !frame.getClassName().equals(ClaimIds.class.getName()))
                    .anyMatch(frame -> frame.getMethodName().equals(method)));
  }

  @Override
  public long wallMillis() {
    return time.wallMillis();
  }

  @Override
  public void parkUntil(Object blocker, long untilNanos) {
    time.parkUntil(blocker, untilNanos);
  }

  @Override
  public void unpark(@Nullable Thread thread) {
    time.unpark(thread);
  }
}
