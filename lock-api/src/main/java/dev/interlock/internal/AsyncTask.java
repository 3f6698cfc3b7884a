package dev.interlock.internal;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A blocking operation that completes a future, run on a thread of the client. It is abandoned when
 * the program completes or cancels the future, or when its time-out passes before a thread has
 * begun it. It is itself the event of that time-out on the {@link Timer}.
 *
 * @param <T> the type of what is acquired, which is released if the future does not take it
 * @param <R> the type of the future's value
 */
abstract class AsyncTask<T, R> extends Timer.Event {

  final Engine engine;
  final Request request;
  final Function<@Nullable T, R> result;
  final CompletableFuture<R> future;

  /** Whether a thread has begun the work, or no thread will. */
  private final AtomicBoolean begun = new AtomicBoolean();

  /**
   * The work as a task: cancelling it interrupts the thread that runs it, but no later task of that
   * thread.
   */
  private final FutureTask<?> interruptible = new FutureTask<>(this::run, null);

  /** Whether the result is known; until then only the program can complete the future. */
  private volatile boolean hasAnswer;

  /**
   * Creates a task that has not started.
   *
   * @param result makes the future's value
   */
  AsyncTask(Request request, Function<@Nullable T, R> result, CompletableFuture<R> future) {
    this.engine = request.engine();
    this.request = request;
    this.result = result;
    this.future = future;
  }

  // --- the operation ----------------------------------------------------------------------------

  /** Enters the local queue, or calls {@link #execute} at once. */
  abstract void enter();

  /** Acquires, and may block; null if the time ran out without a failure. */
  abstract @Nullable T work() throws InterruptedException;

  abstract void releaseUnused(T acquired);

  /** Leaves the local queue; called instead of {@link #work} if that will not begin. */
  void leaveQueue() {}

  /** Completes the future; false if it does not take the lease. */
  boolean deliver(@Nullable T acquired) {
    return future.complete(result.apply(acquired));
  }

  /** Called after a failure, before the future is completed. */
  void onFailure(Throwable failure) {}

  /** Called when the program has completed the future. */
  void onAbandoned() {}

  // --- its life ---------------------------------------------------------------------------------

  final CompletableFuture<R> start() {
    try {
      StackRoom.require();
      // First, because only the timer retries the delivery of an answer.
      engine.timer.start();
      var unused = future.whenComplete((value, failure) -> cancel());
      enter();
    } catch (Throwable e) {
      // The caller gets no future, so anything that has begun must end.
      completeExceptionally(e);
      throw e;
    }
    return future;
  }

  /** Submits the work; false if that failed: {@link #leaveQueue} is then left to the caller. */
  final boolean execute(Executor threads) {
    try {
      engine.timer.schedule(this, request.threadDeadline().nanos());
      threads.execute(interruptible);
    } catch (Throwable e) {
      // The client was closed, or no thread could be started.
      if (tryBegin()) {
        try {
          fail(e instanceof RejectedExecutionException ? engine.closed() : e);
        } catch (Throwable unreported) {
          Timer.logFailure("completing an asynchronous call", unreported);
        }
        return false;
      }
    }
    return true;
  }

  /** Claims the work, to begin or to prevent it; false if it was claimed before. */
  private boolean tryBegin() {
    boolean first = begun.compareAndSet(false, true);
    // Always, because it may have been scheduled after the claim.
    engine.timer.cancel(this);
    return first;
  }

  private void cancel() {
    if (tryBegin()) {
      leaveQueue();
    } else if (!hasAnswer) {
      var unused = interruptible.cancel(true);
    }
    if (!hasAnswer) {
      onAbandoned();
    }
  }

  @Override
  final void fire(long now) {
    if (tryBegin()) {
      leaveQueue();
      fail(engine.unavailable(request.name(), "no thread was free in time to ask the store", null));
    }
  }

  private void run() {
    if (!tryBegin()) {
      return;
    }
    try {
      succeed(work());
    } catch (Throwable e) {
      Timer.runGuarded("completing an asynchronous call", () -> fail(e));
    }
  }

  // --- the answer -------------------------------------------------------------------------------

  // The future's dependents are code of the program, which may block: they never run on an engine
  // thread.
  final void succeed(@Nullable T acquired) {
    boolean delivering = false;
    try {
      engine.notifier.deliver(() -> answer(acquired));
      delivering = true;
    } finally {
      if (!delivering && acquired != null) {
        releaseUnused(acquired);
      }
    }
  }

  private void answer(@Nullable T acquired) {
    hasAnswer = true;
    boolean delivered = false;
    try {
      delivered = deliver(acquired);
    } catch (Throwable e) {
      completeExceptionally(e);
    } finally {
      if (!delivered && acquired != null) {
        releaseUnused(acquired);
      }
    }
  }

  final void fail(Throwable failure) {
    engine.notifier.deliver(() -> completeExceptionally(failure));
  }

  private void completeExceptionally(Throwable failure) {
    if (!future.isDone()) {
      hasAnswer = true;
      onFailure(failure);
      future.completeExceptionally(failure);
    }
  }
}
