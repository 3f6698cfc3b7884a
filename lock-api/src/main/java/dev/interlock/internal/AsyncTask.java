package dev.interlock.internal;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A blocking operation that completes a future, run on one of the client's threads. It is abandoned
 * when the program completes or cancels the future, or when its time-out passes before a thread has
 * begun it. It is the event of that time-out on the {@link Timer}.
 *
 * @param <T> what the operation acquires, which is given up if the future does not take it
 * @param <R> what the future yields
 */
abstract class AsyncTask<T, R> extends Timer.Event {

  final Engine engine;
  final Request request;
  final Function<@Nullable T, R> result;
  final CompletableFuture<R> future;

  /** Whether a thread has begun the work, or none ever will. */
  private final AtomicBoolean begun = new AtomicBoolean();

  /** What a thread runs. To cancel it interrupts that thread, but no later task of it. */
  private final FutureTask<?> interruptible = new FutureTask<>(this::run, null);

  /** Whether its answer is known; then it is not the program that completes the future. */
  private volatile boolean answered;

  /**
   * Makes a task that has not started.
   *
   * @param result makes what the future yields
   */
  AsyncTask(Request request, Function<@Nullable T, R> result, CompletableFuture<R> future) {
    this.engine = request.engine();
    this.request = request;
    this.result = result;
    this.future = future;
  }

  // --- the operation ----------------------------------------------------------------------------

  /** Enters the queue, or calls {@link #execute} at once. */
  abstract void enter();

  /** The blocking part; null if the time passed without a failure. */
  abstract @Nullable T work() throws InterruptedException;

  abstract void giveUp(T acquired);

  /** Called in place of {@link #work} if that will not begin. */
  void endTurn() {}

  /** Completes the future; false if it does not take the lease. */
  boolean deliver(@Nullable T acquired) {
    return future.complete(result.apply(acquired));
  }

  /** Called when it has failed, before the future does. */
  void onFailure(Throwable failure) {}

  /** Called when the program has completed the future. */
  void onAbandoned() {}

  // --- its life ---------------------------------------------------------------------------------

  /** Begins, unless the future is done. */
  final CompletableFuture<R> start() {
    try {
      StackRoom.require();
      // First, because without its thread no answer would be retried.
      engine.timer.start();
      var unused = future.whenComplete((value, failure) -> cancel());
      enter();
    } catch (Throwable e) {
      // The caller gets no future, so what has begun must end.
      completeExceptionally(e);
      throw e;
    }
    return future;
  }

  /** Passes it to a thread; false if that fails: then {@link #endTurn} is left to the caller. */
  final boolean execute(Executor threads) {
    try {
      engine.timer.schedule(this, request.forThread().nanos());
      threads.execute(interruptible);
    } catch (Throwable e) {
      // The client was closed, or no thread could be started.
      if (begin()) {
        try {
          fail(e instanceof RejectedExecutionException ? engine.closed() : e);
        } catch (Throwable untold) {
          Timer.failed("completing an asynchronous call", untold);
        }
        return false;
      }
    }
    return true;
  }

  /** Begins the work, or prevents that; false if either has been done before. */
  private boolean begin() {
    boolean first = begun.compareAndSet(false, true);
    // In any case, because it may have been scheduled after that.
    engine.timer.cancel(this);
    return first;
  }

  private void cancel() {
    if (begin()) {
      endTurn();
    } else if (!answered) {
      var unused = interruptible.cancel(true);
    }
    if (!answered) {
      onAbandoned();
    }
  }

  @Override
  final void fire(long now) {
    if (begin()) {
      endTurn();
      fail(engine.unavailable(request.name(), "no thread was free in time to ask the store", null));
    }
  }

  private void run() {
    if (!begin()) {
      return;
    }
    try {
      succeed(work());
    } catch (Throwable e) {
      Timer.survive("completing an asynchronous call", () -> fail(e));
    }
  }

  // --- the answer -------------------------------------------------------------------------------

  // The future's dependents are the program's code, which may block: never on an engine thread.
  final void succeed(@Nullable T acquired) {
    boolean delivering = false;
    try {
      engine.notifier.deliver(() -> answer(acquired));
      delivering = true;
    } finally {
      if (!delivering && acquired != null) {
        giveUp(acquired);
      }
    }
  }

  private void answer(@Nullable T acquired) {
    answered = true;
    boolean delivered = false;
    try {
      delivered = deliver(acquired);
    } catch (Throwable e) {
      completeExceptionally(e);
    } finally {
      if (!delivered && acquired != null) {
        giveUp(acquired);
      }
    }
  }

  final void fail(Throwable failure) {
    engine.notifier.deliver(() -> completeExceptionally(failure));
  }

  private void completeExceptionally(Throwable failure) {
    if (!future.isDone()) {
      answered = true;
      onFailure(failure);
      future.completeExceptionally(failure);
    }
  }
}
