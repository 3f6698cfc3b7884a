package dev.interlock.micrometer;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockKind;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;
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
    return held(acquisition, acquisition.call(right::acquire));
  }

  @Override
  public Optional<L> tryAcquire() {
    ObservedAcquisition acquisition = observer.begin(kind, name);
    try {
      return maybeHeld(acquisition, acquisition.call(right::tryAcquire));
    } catch (InterruptedException e) {
      throw new AssertionError("tryAcquire() is not interrupted", e);
    }
  }

  @Override
  public Optional<L> tryAcquire(Duration timeout) throws InterruptedException {
    ObservedAcquisition acquisition = observer.begin(kind, name);
    return maybeHeld(acquisition, acquisition.call(() -> right.tryAcquire(timeout)));
  }

  @Override
  public CompletableFuture<L> acquireAsync() {
    return async(right::acquireAsync, acquisition -> lease -> held(acquisition, lease));
  }

  @Override
  public CompletableFuture<Optional<L>> tryAcquireAsync() {
    return maybeAsync(right::tryAcquireAsync);
  }

  @Override
  public CompletableFuture<Optional<L>> tryAcquireAsync(Duration timeout) {
    return maybeAsync(() -> right.tryAcquireAsync(timeout));
  }

  private CompletableFuture<Optional<L>> maybeAsync(
      Supplier<CompletableFuture<Optional<L>>> start) {
    return async(start, acquisition -> lease -> maybeHeld(acquisition, lease));
  }

  private L held(ObservedAcquisition acquisition, L lease) {
    return observed.apply(lease, acquisition.acquired(lease));
  }

  private Optional<L> maybeHeld(ObservedAcquisition acquisition, Optional<L> lease) {
    if (lease.isEmpty()) {
      acquisition.timedOut();
    }
    return lease.map(granted -> held(acquisition, granted));
  }
}
