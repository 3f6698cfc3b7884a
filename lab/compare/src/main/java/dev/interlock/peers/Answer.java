package dev.interlock.peers;

import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Completes as the library's future does, which it cancels when it is cancelled. */
final class Answer<T> extends CompletableFuture<T> {
  private final CompletableFuture<@Nullable Hold> asked;

  Answer(
      CompletableFuture<@Nullable Hold> asked,
      Function<@Nullable Hold, T> result,
      Function<Throwable, Throwable> failure) {
    this.asked = asked;
    var unused =
        asked.whenComplete(
            (hold, thrown) -> {
              if (asked.isCancelled()) {
                boolean unusedToo = super.cancel(true);
              } else if (thrown != null) {
                completeExceptionally(failure.apply(thrown));
              } else {
                complete(result.apply(hold));
              }
            });
  }

  /** Whether it was cancelled in time is for the library to say. */
  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    boolean unused = asked.cancel(mayInterruptIfRunning);
    return asked.isCancelled();
  }
}
