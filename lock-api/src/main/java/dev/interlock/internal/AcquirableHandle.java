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

  final Acquirer acquirer;
  final String name;
  final Share share;
  final LockOptions options;

  AcquirableHandle(Acquirer acquirer, String name, Share share, LockOptions options) {
    this.acquirer = acquirer;
    this.name = name;
    this.share = share;
    this.options = options;
  }

  final Request untilHad() {
    return Request.untilHad(acquirer.engine, name, share, options, null);
  }

  private Request upTo(Duration timeout) {
    return Request.upTo(acquirer.engine, name, share, options, null, timeout);
  }

  @Override
  public LeaseHandle acquire() throws InterruptedException {
    return BlockingAcquisition.acquire(acquirer, untilHad(), LeaseHandle::new);
  }

  @Override
  public Optional<Lease> tryAcquire() {
    return acquirer.isBusy(name, share, options, null)
        ? Optional.empty()
        : acquirer.engine.uninterrupted(() -> tryAcquire(Duration.ZERO));
  }

  @Override
  public Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException {
    return BlockingAcquisition.tryAcquire(acquirer, upTo(timeout), LeaseHandle::new);
  }

  @Override
  public CompletableFuture<Lease> acquireAsync() {
    return async(untilHad(), lease -> lease.orElseThrow(BlockingAcquisition::endedWithNothing));
  }

  @Override
  public CompletableFuture<Optional<Lease>> tryAcquireAsync() {
    try {
      return acquirer.isBusy(name, share, options, null)
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
    acquirer.engine.ensureOpen();
    Object site = acquirer.engine.callSites.current(name);
    return AsyncAcquisition.start(
        acquirer,
        request,
        lease -> {
          if (lease != null) {
            lease.hold().site(site);
          }
          return result.apply(Optional.ofNullable(lease).map(LeaseHandle::new));
        });
  }
}
