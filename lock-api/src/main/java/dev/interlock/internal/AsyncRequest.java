package dev.interlock.internal;

import dev.interlock.spi.Deadline;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A request for a lease, run on a thread of the client within a request time-out. It runs even if
 * the future is cancelled. If no thread is free in time, or the client is closed, it runs with no
 * time left to ask the store.
 *
 * <p>A release that has begun must be finished. So this object is made before the release begins,
 * and {@link #start} needs no memory.
 */
final class AsyncRequest<T> implements Runnable {

  interface StoreRequest<T> {
    @Nullable T make(Deadline deadline) throws InterruptedException;
  }

  private final Engine engine;
  private final StoreRequest<T> request;
  private final Deadline deadline;
  private final Deadline noTimeLeft;
  private final CompletableFuture<T> future = new CompletableFuture<>();
  private final AtomicBoolean begun = new AtomicBoolean();

  AsyncRequest(Engine engine, StoreRequest<T> request) {
    this.engine = engine;
    this.request = request;
    this.deadline = engine.requestDeadline();
    this.noTimeLeft = engine.in(Duration.ZERO);
  }

  CompletableFuture<T> start() {
    try {
      engine.threads.requests.execute(this);
    } catch (Throwable e) {
      make(noTimeLeft);
      Timer.runGuarded(
          "logging",
          () -> Engine.log.debug("no thread is free for an asynchronous request of a lease", e));
    }
    return future;
  }

  @Override
  public void run() {
    make(deadline);
  }

  /**
   * Completes the future on another thread, because its dependents are code of the program, which
   * may block.
   */
  private void make(Deadline until) {
    // A pool that threw may nevertheless have started the task.
    if (!begun.compareAndSet(false, true)) {
      return;
    }
    try {
      @Nullable T answer = request.make(until);
      engine.notifier.deliver(() -> future.complete(answer));
    } catch (Throwable e) {
      engine.notifier.deliver(() -> future.completeExceptionally(e));
    }
  }
}
