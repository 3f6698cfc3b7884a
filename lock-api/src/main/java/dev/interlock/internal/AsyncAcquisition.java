package dev.interlock.internal;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An acquisition for which a future waits. In the local line it occupies no thread; at the head it
 * contends on one of the client's. Cancelling the future leaves the line, or interrupts the
 * contest.
 *
 * @param <R> what the future yields for a lease, or for none in time
 */
final class AsyncAcquisition<R> extends Acquisition {

  private final CompletableFuture<R> future = new CompletableFuture<>();
  private final Function<@Nullable LeaseState, R> result;
  private final Timer.Event timeout =
      new Timer.Event() {
        @Override
        void fire(long now) {
          onTimeout();
        }
      };

  private final InterruptibleRun contest = new InterruptibleRun();
  private volatile boolean timed = true;
  private volatile boolean answered;

  AsyncAcquisition(
      Engine engine, Request request, Patience patience, Function<@Nullable LeaseState, R> result) {
    super(engine, request, patience);
    this.result = result;
  }

  CompletableFuture<R> start() {
    var unused =
        future.whenComplete(
            (value, failure) -> {
              if (!answered) {
                // Cancelled, or completed by somebody else: nobody waits any more.
                abandon();
              }
            });
    join();
    return future;
  }

  private void join() {
    timed = true;
    if (engine().line().enter(request().name(), this)) {
      onHead();
      return;
    }
    engine().timer().schedule(timeout, deadline().nanos());
    if (!timed) {
      // Out of line before the time-out was in place: nobody else would take it away again.
      engine().timer().cancel(timeout);
    }
    engine().ensureLineServed(this);
    if (future.isDone()) {
      abandon();
    }
  }

  private void cancelTimeout() {
    timed = false;
    engine().timer().cancel(timeout);
  }

  @Override
  public void onHead() {
    cancelTimeout();
    try {
      engine().threads().contests().execute(this::contendAndComplete);
    } catch (RejectedExecutionException e) {
      engine().line().pass(request().name());
      fail(engine().closed());
    }
  }

  @Override
  public void onHandOver(LeaseState lease) {
    cancelTimeout();
    succeed(lease);
  }

  @Override
  public void onClose() {
    cancelTimeout();
    fail(engine().closed());
  }

  private void contendAndComplete() {
    if (!contest.begin()) {
      engine().line().pass(request().name());
      return;
    }
    try {
      LeaseState lease = contend();
      contest.end();
      succeed(lease);
    } catch (InterruptedException | RuntimeException | Error e) {
      contest.end();
      fail(e);
    }
  }

  private void onTimeout() {
    if (engine().line().leave(request().name(), this)) {
      try {
        succeed(timedOutInLine());
      } catch (RuntimeException e) {
        fail(e);
      }
    }
  }

  private void abandon() {
    cancelTimeout();
    if (!engine().line().leave(request().name(), this)) {
      contest.cancel();
    }
  }

  // The future's dependents are the user's code, which may block: never on an engine's thread.
  private void succeed(@Nullable LeaseState lease) {
    engine().notifier().run(() -> deliver(lease));
  }

  private void deliver(@Nullable LeaseState lease) {
    if (lease != null && !lease.isHeld() && !future.isDone()) {
      // It ended on its way here, which counts as not granted.
      join();
      return;
    }
    R yield = result.apply(lease);
    answered = true;
    if (!future.complete(yield) && lease != null) {
      lease.release();
    }
  }

  private void fail(Throwable failure) {
    engine()
        .notifier()
        .run(
            () -> {
              answered = true;
              future.completeExceptionally(failure);
            });
  }
}
