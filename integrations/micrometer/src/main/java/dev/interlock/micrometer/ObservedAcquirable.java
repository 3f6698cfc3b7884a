package dev.interlock.micrometer;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockKind;
import dev.interlock.micrometer.ObservedAcquisition.Call;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Observes what another acquires. */
class ObservedAcquirable<L extends Lease> implements Acquirable<L> {

  private final Acquirable<L> right;
  private final LockKind kind;
  private final String name;
  private final LockObserver observer;
  private final BiFunction<L, ObservedHold, L> observed;

  ObservedAcquirable(
      Acquirable<L> right,
      LockKind kind,
      String name,
      LockObserver observer,
      BiFunction<L, ObservedHold, L> observed) {
    this.right = right;
    this.kind = kind;
    this.name = name;
    this.observer = observer;
    this.observed = observed;
  }

  @Override
  public L acquire() throws InterruptedException {
    ObservedAcquisition acquisition = observer.begin(kind, name);
    return held(acquisition, acquisition.call(right::acquire, Lease::close));
  }

  @Override
  public Optional<L> tryAcquire() {
    ObservedAcquisition acquisition = observer.begin(kind, name);
    return maybeHeld(acquisition, acquisition.call(right::tryAcquire, this::giveUp));
  }

  @Override
  public Optional<L> tryAcquire(Duration timeout) throws InterruptedException {
    ObservedAcquisition acquisition = observer.begin(kind, name);
    return maybeHeld(acquisition, acquisition.call(() -> right.tryAcquire(timeout), this::giveUp));
  }

  @Override
  public CompletableFuture<L> acquireAsync() {
    return async(right::acquireAsync, this::held, ObservedAcquirable::release);
  }

  @Override
  public CompletableFuture<Optional<L>> tryAcquireAsync() {
    return async(right::tryAcquireAsync, this::maybeHeld, this::giveUp);
  }

  @Override
  public CompletableFuture<Optional<L>> tryAcquireAsync(Duration timeout) {
    return async(() -> right.tryAcquireAsync(timeout), this::maybeHeld, this::giveUp);
  }

  private <R> CompletableFuture<R> async(
      Call<CompletableFuture<R>, RuntimeException> start,
      BiFunction<ObservedAcquisition, R, R> held,
      Consumer<R> giveUp) {
    ObservedAcquisition acquisition = observer.begin(kind, name);
    CompletableFuture<R> acquired = acquisition.call(start, future -> future.cancel(false));
    CompletableFuture<R> result = new CompletableFuture<>();
    var unused =
        acquired.whenComplete(
            (lease, failure) -> {
              if (failure == null) {
                complete(result, () -> held.apply(acquisition, lease), () -> giveUp.accept(lease));
              } else {
                acquisition.failed(failure);
                result.completeExceptionally(failure);
              }
            });
    // The program may cancel the result, or complete it in another way.
    var unusedToo = result.whenComplete((lease, failure) -> acquired.cancel(false));
    return result;
  }

  /** Gives up what the program does not get. */
  private static <R> void complete(CompletableFuture<R> result, Supplier<R> held, Runnable giveUp) {
    try {
      if (!result.complete(held.get())) {
        giveUp.run();
      }
    } catch (RuntimeException | Error e) {
      result.completeExceptionally(e);
    }
  }

  private L held(ObservedAcquisition acquisition, L lease) {
    ObservedHold hold;
    try {
      hold = acquisition.acquired(lease);
    } catch (RuntimeException | Error e) {
      release(lease);
      throw e;
    }
    return observed.apply(lease, hold);
  }

  private Optional<L> maybeHeld(ObservedAcquisition acquisition, Optional<L> lease) {
    if (lease.isEmpty()) {
      acquisition.timedOut();
    }
    return lease.map(granted -> held(acquisition, granted));
  }

  private void giveUp(Optional<L> lease) {
    lease.ifPresent(ObservedAcquirable::release);
  }

  private static void release(Lease lease) {
    var unused = lease.releaseAsync();
  }

  @Override
  public String toString() {
    return right.toString();
  }
}
