package dev.interlock.internal;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockOptions;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

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
    return LeaseHandle.of(engine.acquire(request()));
  }

  @Override
  public Optional<Lease> tryAcquire() {
    return handle(engine.tryAcquire(request()));
  }

  @Override
  public Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException {
    Engine.checkedTimeout(timeout);
    return handle(engine.tryAcquire(request(), timeout));
  }

  private static Optional<Lease> handle(@Nullable LeaseState lease) {
    return lease == null ? Optional.empty() : Optional.of(LeaseHandle.of(lease));
  }

  @Override
  public CompletableFuture<Lease> acquireAsync() {
    engine.ensureOpen();
    Request request = request();
    Object site = engine.callSites().current(name);
    return new AsyncAcquisition<Lease>(
            engine,
            request,
            Acquisition.Patience.untilHad(engine, request),
            lease -> {
              if (lease == null) {
                throw new IllegalStateException("an unlimited acquisition ended with nothing");
              }
              return LeaseHandle.of(lease, site);
            })
        .start();
  }

  @Override
  public CompletableFuture<Optional<Lease>> tryAcquireAsync(Duration timeout) {
    Engine.checkedTimeout(timeout);
    engine.ensureOpen();
    Object site = engine.callSites().current(name);
    return new AsyncAcquisition<Optional<Lease>>(
            engine,
            request(),
            Acquisition.Patience.upTo(engine, timeout),
            lease -> lease == null ? Optional.empty() : Optional.of(LeaseHandle.of(lease, site)))
        .start();
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
