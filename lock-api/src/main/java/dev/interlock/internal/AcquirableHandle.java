package dev.interlock.internal;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** A share of a name, and the options to acquire it with. */
class AcquirableHandle implements Acquirable<Lease> {

  final DefaultLockClient engine;
  final String name;
  final Share share;
  final LockOptions options;

  AcquirableHandle(DefaultLockClient engine, String name, Share share, LockOptions options) {
    this.engine = engine;
    this.name = name;
    this.share = share;
    this.options = options;
  }

  private Request untilHad() {
    return Request.untilHad(engine, name, share, options, null);
  }

  private Request upTo(Duration timeout) {
    return Request.upTo(
        engine, name, share, options, null, DefaultLockClient.checkedTimeout(timeout));
  }

  @Override
  public LeaseHandle acquire() throws InterruptedException {
    return engine.acquire(untilHad(), LeaseHandle::new);
  }

  @Override
  public Optional<Lease> tryAcquire() {
    return engine.isBusy(name, share, options, null)
        ? Optional.empty()
        : engine.uninterrupted(() -> tryAcquire(Duration.ZERO));
  }

  @Override
  public Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException {
    return engine.tryAcquire(upTo(timeout), LeaseHandle::new);
  }

  @Override
  public CompletableFuture<Lease> acquireAsync() {
    return async(untilHad(), lease -> lease.orElseThrow(DefaultLockClient::endedWithNothing));
  }

  @Override
  public CompletableFuture<Optional<Lease>> tryAcquireAsync() {
    try {
      return engine.isBusy(name, share, options, null)
          ? CompletableFuture.completedFuture(Optional.empty())
          : tryAcquireAsync(Duration.ZERO);
    } catch (LockConfigurationException e) {
      return CompletableFuture.failedFuture(e);
    }
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
        lease -> {
          if (lease != null) {
            lease.site(site);
          }
          return result.apply(Optional.ofNullable(lease).map(LeaseHandle::new));
        });
  }
}
