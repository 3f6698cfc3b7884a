package dev.interlock.internal;

import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An acquisition for which a future waits. In the local line it occupies no thread; at the head it
 * contends on one of the client's. Used once.
 *
 * @param <R> what the future yields for a lease, or for none in time
 */
final class AsyncAcquisition<R> extends AsyncTask<LeaseState, R> implements LocalLine.Waiter {

  private final Acquisition acquisition;
  private final long enteredAt;

  private AsyncAcquisition(
      Acquisition acquisition,
      Function<@Nullable LeaseState, R> result,
      CompletableFuture<R> future) {
    super(acquisition.engine(), acquisition.patience(), result, future);
    this.acquisition = acquisition;
    this.enteredAt = engine.time().nanoTime();
  }

  static <R> CompletableFuture<R> start(
      Acquisition acquisition, Function<@Nullable LeaseState, R> result) {
    return new AsyncAcquisition<>(acquisition, result, new CompletableFuture<>()).start();
  }

  @Override
  void enter() {
    if (engine.line().enter(acquisition.name(), this)) {
      if (!onHead()) {
        passOn();
      }
      return;
    }
    timeOutAt(patience.deadline());
    engine.ensureLineServed(this);
    if (future.isDone() && leaveLine()) {
      // It was done before it was in line.
      endWait();
    }
  }

  @Override
  public Request request() {
    return acquisition.request();
  }

  @Override
  public long enteredAt() {
    return enteredAt;
  }

  @Override
  boolean leaveLine() {
    return engine.line().leave(acquisition.name(), this);
  }

  @Override
  void passOn() {
    engine.line().pass(acquisition.name());
  }

  @Override
  public boolean onHead() {
    return execute(engine.threads().contests());
  }

  @Override
  public void onHandOver(LeaseState lease) {
    endWait();
    succeed(lease);
  }

  @Override
  public void onClose() {
    endWait();
    fail(engine.closed());
  }

  @Override
  @Nullable LeaseState work() throws InterruptedException {
    return acquisition.contend();
  }

  @Override
  @Nullable LeaseState timedOutInLine() {
    return acquisition.timedOutInLine();
  }

  @Override
  void deliver(@Nullable LeaseState lease) {
    if (lease != null && !lease.isHeld() && !future.isDone()) {
      // It ended on its way here, which counts as not granted.
      var unused = new AsyncAcquisition<>(acquisition, result, future).start();
    } else {
      super.deliver(lease);
    }
  }

  @Override
  void giveUp(LeaseState lease) {
    var unused = lease.release();
  }
}
