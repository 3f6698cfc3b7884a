package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Deadline;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A blocking operation that completes a future, run on one of the client's threads. It is abandoned
 * when the program completes or cancels the future, or when its time-out passes before a thread has
 * begun it. It schedules its own time-out on the {@link Timer}.
 *
 * @param <T> what the operation acquires, which is given up if the future does not take it
 * @param <R> what the future yields
 */
abstract class AsyncTask<T, R> extends Timer.Event {

  private enum Wait {
    IN_QUEUE,
    FOR_A_THREAD,
    /** It has begun, or never will. */
    OVER
  }

  final Engine engine;
  final Request request;
  final Function<@Nullable T, R> result;
  final CompletableFuture<R> future;

  @GuardedBy("this")
  private Wait wait = Wait.IN_QUEUE;

  @GuardedBy("this")
  private @Nullable Thread runner;

  /** Whether its answer is known; then it is not the program that completes the future. */
  volatile boolean answered;

  /**
   * Makes a task that has not started.
   *
   * @param result makes what the future yields
   */
  AsyncTask(
      Engine engine,
      Request request,
      Function<@Nullable T, R> result,
      CompletableFuture<R> future) {
    this.engine = engine;
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
  void passOn() {}

  /** Called when it has failed, before the future does. */
  void onFailure(Throwable failure) {}

  /** Called when the future is done: it waits for nothing any more. */
  void leaveQueue() {}

  /** Called when the program has completed the future. */
  void onAbandoned() {}

  /** Called when its time has passed; false if it does not wait in the queue. */
  boolean timesOutInQueue() {
    return false;
  }

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

  /** From here on its time-out applies, until the work begins or there is none to do. */
  final void timeOutAt(Deadline deadline) {
    engine.timer.schedule(this, deadline.nanos());
    synchronized (this) {
      if (wait != Wait.OVER) {
        return;
      }
    }
    endWait();
  }

  /** Ends its wait, successful or not. */
  final void endWait() {
    synchronized (this) {
      wait = Wait.OVER;
    }
    engine.timer.cancel(this);
  }

  /** Passes it to a thread; false if its work can no longer begin. */
  final boolean execute(Executor threads) {
    if (!move(Wait.IN_QUEUE, Wait.FOR_A_THREAD)) {
      return false;
    }
    try {
      timeOutAt(request.forThread());
      threads.execute(this::run);
    } catch (Throwable e) {
      // The client was closed, or no thread could be started.
      if (withdraw()) {
        fail(e instanceof RejectedExecutionException ? engine.closed() : e);
        return false;
      }
    }
    return true;
  }

  private synchronized boolean move(Wait from, Wait to) {
    boolean moved = wait == from;
    if (moved) {
      wait = to;
    }
    return moved;
  }

  /** Takes it back from the threads, unless one has begun it. */
  private boolean withdraw() {
    boolean withdrawn = move(Wait.FOR_A_THREAD, Wait.OVER);
    if (withdrawn) {
      endWait();
    }
    return withdrawn;
  }

  private void cancel() {
    if (!answered) {
      onAbandoned();
    }
    leaveQueue();
    boolean queued;
    synchronized (this) {
      queued = wait == Wait.FOR_A_THREAD;
      wait = Wait.OVER;
      if (runner != null) {
        runner.interrupt();
      }
    }
    if (queued) {
      passOn();
    }
    endWait();
  }

  @Override
  final void fire(long now) {
    if (!timesOutInQueue() && withdraw()) {
      passOn();
      fail(engine.unavailable(request.name(), "no thread was free in time to ask the store", null));
    }
  }

  /** Ends with an outcome that is known without the store. */
  final void end(Supplier<@Nullable T> outcome) {
    try {
      succeed(outcome.get());
    } catch (Throwable e) {
      fail(e);
    }
  }

  private void run() {
    synchronized (this) {
      if (!move(Wait.FOR_A_THREAD, Wait.OVER)) {
        return;
      }
      runner = Thread.currentThread();
    }
    endWait();
    try {
      T acquired = work();
      end();
      succeed(acquired);
    } catch (Throwable e) {
      end();
      fail(e);
    }
  }

  /** The thread is shared: an interrupt that comes too late must not reach its next task. */
  private synchronized void end() {
    runner = null;
    var unused = Thread.interrupted();
  }

  // --- the answer -------------------------------------------------------------------------------

  // The future's dependents are the program's code, which may block: never on an engine thread.
  final void succeed(@Nullable T acquired) {
    boolean delivering = false;
    try {
      engine.notifier.deliver(() -> deliver(acquired));
      delivering = true;
    } finally {
      if (!delivering && acquired != null) {
        giveUp(acquired);
      }
    }
  }

  void deliver(@Nullable T acquired) {
    boolean delivered = false;
    try {
      R answer = result.apply(acquired);
      answered = true;
      delivered = future.complete(answer);
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
