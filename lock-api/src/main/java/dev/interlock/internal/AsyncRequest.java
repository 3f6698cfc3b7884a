package dev.interlock.internal;

import dev.interlock.spi.Deadline;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A request of a lease on one of the client's threads, within a request time-out from now. It runs
 * whatever happens to the future. If no thread is free in time, or the client is closed, it runs
 * with no time left to ask the store.
 *
 * <p>A release that has begun has to be finished. So this is made before the release begins, and
 * {@link #start} needs no memory.
 */
final class AsyncRequest<T> implements Runnable {

  interface StoreRequest<T> {
    @Nullable T make(Deadline deadline) throws InterruptedException;
  }

  private final Engine engine;
  private final StoreRequest<T> request;
  private final Deadline deadline;
  private final Deadline noTime;
  private final CompletableFuture<T> future = new CompletableFuture<>();
  private final AtomicBoolean begun = new AtomicBoolean();

  AsyncRequest(Engine engine, StoreRequest<T> request) {
    this.engine = engine;
    this.request = request;
    this.deadline = engine.requestDeadline();
    this.noTime = engine.in(Duration.ZERO);
  }

  CompletableFuture<T> start() {
    try {
      engine.threads.requests.execute(this);
    } catch (Throwable e) {
      make(noTime);
      Timer.survive(
          "logging",
          () -> Engine.log.debug("no thread is free for an asynchronous request of a lease", e));
    }
    return future;
  }

  @Override
  public void run() {
    make(deadline);
  }

  /** The future's dependents are the program's code, which may block: they run elsewhere. */
  private void make(Deadline until) {
    // A pool that threw may have started it nevertheless.
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
