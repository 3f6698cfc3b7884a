package dev.interlock.internal;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockOptions;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;

/** A name and how to lock it. */
final class LockHandle implements DistributedLock {

  private final Engine engine;
  private final String name;
  private final LockOptions options;

  LockHandle(Engine engine, String name, LockOptions options) {
    this.engine = engine;
    this.name = name;
    this.options = options;
  }

  private Request request() {
    return engine.request(name, options, false, null);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Lease acquire() throws InterruptedException {
    Request request = request();
    return engine.acquire(request, Acquisition.Patience.untilHad(engine, options), LeaseHandle::of);
  }

  @Override
  public Optional<Lease> tryAcquire() {
    return engine.isBusy(name) ? Optional.empty() : engine.tryAcquire(request(), LeaseHandle::of);
  }

  @Override
  public Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException {
    Engine.checkedTimeout(timeout);
    return engine.tryAcquire(request(), timeout, LeaseHandle::of);
  }

  @Override
  public CompletableFuture<Lease> acquireAsync() {
    return async(
        Acquisition.Patience.untilHad(engine, options),
        lease -> lease.orElseThrow(Engine::endedWithNothing));
  }

  @Override
  public CompletableFuture<Optional<Lease>> tryAcquireAsync(Duration timeout) {
    Engine.checkedTimeout(timeout);
    return async(Acquisition.Patience.upTo(engine, timeout), lease -> lease);
  }

  private <R> CompletableFuture<R> async(
      Acquisition.Patience patience, Function<Optional<Lease>, R> result) {
    engine.ensureOpen();
    Request request = request();
    Object site = engine.callSites().current(name);
    return AsyncAcquisition.start(
        new Acquisition(engine, request, patience),
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
