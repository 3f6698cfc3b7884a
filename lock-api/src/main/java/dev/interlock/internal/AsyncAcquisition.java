package dev.interlock.internal;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockEvent.NotAcquired.Reason;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An acquisition that completes a future. It occupies no thread in the local queue; as the head it
 * contends on a thread of the client. Used once.
 *
 * @param <R> the type of the future's value
 */
final class AsyncAcquisition<R> extends AsyncTask<LeaseState, R> {

  private final Acquirer acquirer;
  private final LocalWait wait;

  private AsyncAcquisition(
      Acquirer acquirer,
      Request request,
      Function<@Nullable LeaseState, R> result,
      CompletableFuture<R> future) {
    super(request, result, future);
    this.acquirer = acquirer;
    this.wait = new LocalWait(acquirer, request, this::onDecision);
  }

  static <R> CompletableFuture<R> start(
      Acquirer acquirer, Request request, Function<@Nullable LeaseState, R> result) {
    return new AsyncAcquisition<>(acquirer, request, result, new CompletableFuture<>()).start();
  }

  @Override
  void enter() {
    if (request.bypassesQueue()) {
      var unused = execute(engine.threads.acquireLoops);
      return;
    }
    try {
      if (!wait.enter()) {
        wait.timeOutAt(request.deadline());
      } else if (!wait.onHead()) {
        acquirer.holdings.promoteNext(request.name());
      }
    } catch (LockConfigurationException e) {
      fail(e);
    }
  }

  private boolean onDecision() {
    if (wait.isHead()) {
      return execute(engine.threads.acquireLoops);
    }
    try {
      succeed(wait.outcome());
    } catch (Throwable e) {
      fail(e);
    }
    return true;
  }

  @Override
  @Nullable LeaseState work() throws InterruptedException {
    return request.bypassesQueue() ? acquirer.tryBesideQueue(request) : acquirer.contend(request);
  }

  @Override
  void leaveQueue() {
    // A lease that was handed off to this wait is delivered to the future, which does not take it.
    var unused = wait.abandon();
  }

  @Override
  boolean deliver(@Nullable LeaseState lease) {
    if (lease == null) {
      engine.reports.reportNotAcquired(request, null, Reason.TIMED_OUT);
    } else if (!lease.isHeld() && !future.isDone()) {
      // A lease that ended on its way here counts as not granted.
      if (request.isOver()) {
        throw acquirer.lossBeforeReturn(request, lease);
      }
      var unused = new AsyncAcquisition<>(acquirer, request.forRetry(), result, future).start();
      return true;
    }
    return super.deliver(lease);
  }

  @Override
  void onFailure(Throwable failure) {
    engine.reports.reportFailure(request, failure);
  }

  @Override
  void onAbandoned() {
    engine.reports.reportNotAcquired(request, null, Reason.CANCELLED);
  }

  @Override
  void releaseUnused(LeaseState lease) {
    Release.releaseUnused(lease, null);
  }
}
