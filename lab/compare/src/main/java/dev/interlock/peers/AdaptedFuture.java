package dev.interlock.peers;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A future that completes with the converted result or failure of a library's future, and passes
 * cancellation on to it.
 *
 * @param <T> the type of the converted result
 */
final class AdaptedFuture<T extends @Nullable Object> extends CompletableFuture<T> {
  private final Future<?> source;

  <S extends @Nullable Object, F extends Future<S> & CompletionStage<S>> AdaptedFuture(
      F source, Function<S, T> result, Function<Throwable, Throwable> failure) {
    this.source = source;
    var unused =
        source.whenComplete(
            (value, thrown) -> {
              if (source.isCancelled()) {
                super.cancel(true);
              } else if (thrown != null) {
                completeExceptionally(failure.apply(thrown));
              } else {
                complete(result.apply(value));
              }
            });
  }

  /**
   * Cancels the future of the library.
   *
   * @return whether it was cancelled in time, according to the library
   */
  @CanIgnoreReturnValue
  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    source.cancel(mayInterruptIfRunning);
    return source.isCancelled();
  }
}
