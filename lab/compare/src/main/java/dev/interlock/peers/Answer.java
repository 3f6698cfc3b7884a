package dev.interlock.peers;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Completes as the library's future does, which it cancels when it is cancelled.
 *
 * @param <T> the result
 */
final class Answer<T extends @Nullable Object> extends CompletableFuture<T> {
  private final Future<?> asked;

  <S extends @Nullable Object, F extends Future<S> & CompletionStage<S>> Answer(
      F asked, Function<S, T> result, Function<Throwable, Throwable> failure) {
    this.asked = asked;
    var unused =
        asked.whenComplete(
            (value, thrown) -> {
              if (asked.isCancelled()) {
                super.cancel(true);
              } else if (thrown != null) {
                completeExceptionally(failure.apply(thrown));
              } else {
                complete(result.apply(value));
              }
            });
  }

  /** Whether it was cancelled in time is for the library to say. */
  @CanIgnoreReturnValue
  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    asked.cancel(mayInterruptIfRunning);
    return asked.isCancelled();
  }
}
