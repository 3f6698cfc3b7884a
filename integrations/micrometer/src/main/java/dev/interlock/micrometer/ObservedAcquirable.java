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

/** Observes the acquisitions of another {@link Acquirable}. */
class ObservedAcquirable<L extends Lease> implements Acquirable<L> {

  private final Acquirable<L> delegate;
  private final LockKind kind;
  private final String name;
  private final LockObserver observer;
  private final BiFunction<L, ObservedHold, L> wrap;

  ObservedAcquirable(
      Acquirable<L> delegate,
      LockKind kind,
      String name,
      LockObserver observer,
      BiFunction<L, ObservedHold, L> wrap) {
    this.delegate = delegate;
    this.kind = kind;
    this.name = name;
    this.observer = observer;
    this.wrap = wrap;
  }

  @Override
  public L acquire() throws InterruptedException {
    ObservedAcquisition acquisition = observer.begin(kind, name);
    return observeHold(acquisition, acquisition.call(delegate::acquire, Lease::close));
  }

  @Override
  public Optional<L> tryAcquire() {
    ObservedAcquisition acquisition = observer.begin(kind, name);
    return observeHoldIfPresent(
        acquisition, acquisition.call(delegate::tryAcquire, ObservedAcquirable::releaseIfPresent));
  }

  @Override
  public Optional<L> tryAcquire(Duration timeout) throws InterruptedException {
    ObservedAcquisition acquisition = observer.begin(kind, name);
    return observeHoldIfPresent(
        acquisition,
        acquisition.call(() -> delegate.tryAcquire(timeout), ObservedAcquirable::releaseIfPresent));
  }

  @Override
  public CompletableFuture<L> acquireAsync() {
    return async(delegate::acquireAsync, this::observeHold, ObservedAcquirable::release);
  }

  @Override
  public CompletableFuture<Optional<L>> tryAcquireAsync() {
    return async(
        delegate::tryAcquireAsync,
        this::observeHoldIfPresent,
        ObservedAcquirable::releaseIfPresent);
  }

  @Override
  public CompletableFuture<Optional<L>> tryAcquireAsync(Duration timeout) {
    return async(
        () -> delegate.tryAcquireAsync(timeout),
        this::observeHoldIfPresent,
        ObservedAcquirable::releaseIfPresent);
  }

  private <R> CompletableFuture<R> async(
      Call<CompletableFuture<R>, RuntimeException> start,
      BiFunction<ObservedAcquisition, R, R> observe,
      Consumer<R> release) {
    ObservedAcquisition acquisition = observer.begin(kind, name);
    CompletableFuture<R> acquired = acquisition.call(start, future -> future.cancel(false));
    CompletableFuture<R> result = new CompletableFuture<>();
    var unused =
        acquired.whenComplete(
            (lease, failure) -> {
              if (failure == null) {
                complete(
                    result, () -> observe.apply(acquisition, lease), () -> release.accept(lease));
              } else {
                acquisition.fail(failure);
                result.completeExceptionally(failure);
              }
            });
    // The program may cancel the result, or complete it in another way.
    var unusedToo = result.whenComplete((lease, failure) -> acquired.cancel(false));
    return result;
  }

  /** Completes the result, and releases the lease if the program no longer wants it. */
  private static <R> void complete(
      CompletableFuture<R> result, Supplier<R> observe, Runnable release) {
    try {
      if (!result.complete(observe.get())) {
        release.run();
      }
    } catch (RuntimeException | Error e) {
      result.completeExceptionally(e);
    }
  }

  private L observeHold(ObservedAcquisition acquisition, L lease) {
    ObservedHold hold;
    try {
      hold = acquisition.beginHold(lease);
    } catch (RuntimeException | Error e) {
      release(lease);
      throw e;
    }
    return wrap.apply(lease, hold);
  }

  private Optional<L> observeHoldIfPresent(ObservedAcquisition acquisition, Optional<L> lease) {
    if (lease.isEmpty()) {
      acquisition.timeOut();
    }
    return lease.map(granted -> observeHold(acquisition, granted));
  }

  private static void releaseIfPresent(Optional<? extends Lease> lease) {
    lease.ifPresent(ObservedAcquirable::release);
  }

  private static void release(Lease lease) {
    var unused = lease.releaseAsync();
  }

  @Override
  public String toString() {
    return delegate.toString();
  }
}
