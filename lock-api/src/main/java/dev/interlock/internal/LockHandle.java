package dev.interlock.internal;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockOptions;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;

/** A lock: a name and its options. */
final class LockHandle implements DistributedLock {

  private final DefaultLockClient engine;
  private final String name;
  private final LockOptions options;

  LockHandle(DefaultLockClient engine, String name, LockOptions options) {
    this.engine = engine;
    this.name = name;
    this.options = options;
  }

  private Request untilHad() {
    return Request.untilHad(engine, name, options, null);
  }

  private Request upTo(Duration timeout) {
    return Request.upTo(engine, name, options, null, DefaultLockClient.checkedTimeout(timeout));
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Lease acquire() throws InterruptedException {
    return engine.acquire(untilHad(), LeaseHandle::of);
  }

  @Override
  public Optional<Lease> tryAcquire() {
    return engine.isBusy(name, options, null)
        ? Optional.empty()
        : engine.uninterrupted(() -> tryAcquire(Duration.ZERO));
  }

  @Override
  public Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException {
    return engine.tryAcquire(upTo(timeout), LeaseHandle::of);
  }

  @Override
  public CompletableFuture<Lease> acquireAsync() {
    return async(untilHad(), lease -> lease.orElseThrow(DefaultLockClient::endedWithNothing));
  }

  @Override
  public CompletableFuture<Optional<Lease>> tryAcquireAsync() {
    return engine.isBusy(name, options, null)
        ? CompletableFuture.completedFuture(Optional.empty())
        : tryAcquireAsync(Duration.ZERO);
  }

  @Override
  public CompletableFuture<Optional<Lease>> tryAcquireAsync(Duration timeout) {
    return async(upTo(timeout), lease -> lease);
  }

  private <R> CompletableFuture<R> async(Request request, Function<Optional<Lease>, R> result) {
    engine.ensureOpen();
    Object site = engine.callSites.current(name);
    return AsyncAcquisition.start(
        engine,
        request,
        lease -> result.apply(Optional.ofNullable(lease).map(had -> LeaseHandle.of(had, site))));
  }

  @Override
  public Lock asLock() {
    return new LockView(engine, name, options);
  }

  @Override
  public String toString() {
    return "DistributedLock[" + name + " on " + engine.endpoint() + "]";
  }
}
