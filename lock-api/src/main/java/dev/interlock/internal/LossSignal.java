package dev.interlock.internal;

import dev.interlock.LeaseLostException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The future of a lease's loss. All callers share it, because a copy for each would live as long as
 * the lease. Therefore only the client can complete it.
 */
final class LossSignal extends CompletableFuture<LeaseLostException> {

  private final Notifier notifier;

  LossSignal(Notifier notifier) {
    this.notifier = notifier;
  }

  /** Queues the completion of this signal, which the notifier's next flush carries out. */
  void enqueue(LeaseLostException loss) {
    notifier.enqueue(() -> signal(loss));
  }

  // A dependent may block. Completing it again, on another thread, runs the dependents behind that
  // one.
  void signal(LeaseLostException loss) {
    if (getNumberOfDependents() > 1) {
      enqueue(loss);
      notifier.flush();
    }
    super.complete(loss);
  }

  @Override
  public boolean complete(LeaseLostException value) {
    return false;
  }

  @Override
  public boolean completeExceptionally(Throwable failure) {
    return false;
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    return false;
  }

  @Override
  public CompletableFuture<LeaseLostException> completeAsync(
      Supplier<? extends LeaseLostException> supplier, Executor executor) {
    return this;
  }

  @Override
  public CompletableFuture<LeaseLostException> orTimeout(long timeout, TimeUnit unit) {
    return copy().orTimeout(timeout, unit);
  }

  @Override
  public CompletableFuture<LeaseLostException> completeOnTimeout(
      LeaseLostException value, long timeout, TimeUnit unit) {
    return copy().completeOnTimeout(value, timeout, unit);
  }

  @Override
  public void obtrudeValue(LeaseLostException value) {
    throw new UnsupportedOperationException("only the client can report a loss");
  }

  @Override
  public void obtrudeException(Throwable failure) {
    throw new UnsupportedOperationException("only the client can report a loss");
  }
}
