package dev.interlock.internal;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockEvent.GaveUp.Reason;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An acquisition that completes a future. In the local queue it occupies no thread; as the head it
 * contends on one of the client's threads. Used once.
 *
 * @param <R> what the future yields for a lease, or for none in time
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
    this.wait = new LocalWait(acquirer, request, this::goOn);
  }

  static <R> CompletableFuture<R> start(
      Acquirer acquirer, Request request, Function<@Nullable LeaseState, R> result) {
    return new AsyncAcquisition<>(acquirer, request, result, new CompletableFuture<>()).start();
  }

  @Override
  void enter() {
    if (request.asksOnce()) {
      var unused = execute(engine.threads.loops);
      return;
    }
    try {
      if (!wait.enter()) {
        wait.timeOutAt(request.deadline());
      } else if (!wait.onHead()) {
        acquirer.holdings.endTurn(request.name());
      }
    } catch (LockConfigurationException e) {
      fail(e);
    }
  }

  private boolean goOn() {
    if (wait.isHead()) {
      return execute(engine.threads.loops);
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
    return request.asksOnce() ? acquirer.contendBeside(request) : acquirer.contend(request);
  }

  @Override
  void endTurn() {
    // What has been handed over to it is on its way to the future, which does not take it.
    var unused = wait.abandon();
  }

  @Override
  boolean deliver(@Nullable LeaseState lease) {
    if (lease == null) {
      engine.reports.noteGivenUp(request, null, Reason.TIMED_OUT);
    } else if (!lease.isHeld() && !future.isDone()) {
      // The lease ended before it got here, which counts as not granted.
      if (request.isOver()) {
        throw acquirer.lostBeforeReturn(request, lease);
      }
      var unused = new AsyncAcquisition<>(acquirer, request.again(), result, future).start();
      return true;
    }
    return super.deliver(lease);
  }

  @Override
  void onFailure(Throwable failure) {
    engine.reports.noteFailure(request, failure);
  }

  @Override
  void onAbandoned() {
    engine.reports.noteGivenUp(request, null, Reason.CANCELLED);
  }

  @Override
  void giveUp(LeaseState lease) {
    Release.giveUp(lease, null);
  }
}
