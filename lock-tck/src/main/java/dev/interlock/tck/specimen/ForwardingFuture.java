package dev.interlock.tck.specimen;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.UnaryOperator;

/**
 * A future that completes as another one does. Unlike a dependent future, it also cancels the other
 * one when it is cancelled or completed itself.
 */
final class ForwardingFuture<T> extends CompletableFuture<T> {
  private final CompletableFuture<T> delegate;

  ForwardingFuture(CompletableFuture<T> delegate, UnaryOperator<T> alteration) {
    this.delegate = delegate;
    var unused =
        delegate.whenComplete(
            (value, failure) -> {
              if (failure != null) {
                completeExceptionally(cause(failure));
              } else {
                complete(alteration.apply(value));
              }
            });
    var unusedToo = whenComplete((value, failure) -> delegate.cancel(true));
  }

  private static Throwable cause(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    var unused = delegate.cancel(mayInterruptIfRunning);
    return isCancelled();
  }
}
