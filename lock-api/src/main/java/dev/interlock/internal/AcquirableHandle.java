package dev.interlock.internal;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockTimeoutException;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A handle on a share of a name, or on a set of names, with the options to acquire it. */
abstract class AcquirableHandle<L extends Lease> implements Acquirable<L> {

  final Acquirer acquirer;
  final Engine engine;
  final String name;
  final Share share;
  final LockOptions options;

  AcquirableHandle(Acquirer acquirer, String name, Share share, LockOptions options) {
    this.acquirer = acquirer;
    this.engine = acquirer.engine;
    this.name = name;
    this.share = share;
    this.options = options;
  }

  /** Acquires on the calling thread; null if the time ran out without a failure. */
  abstract @Nullable L acquire(Request request) throws InterruptedException;

  /** Acquires on a thread of the client; {@code result} makes the value of the future. */
  abstract <R> CompletableFuture<R> acquireAsync(Request request, Function<@Nullable L, R> result);

  /** Whether an attempt that does not wait would certainly fail. */
  boolean isBusy(@Nullable Thread owner) {
    return false;
  }

  final Request acquireRequest() {
    return acquireRequest(null);
  }

  final Request acquireRequest(@Nullable Thread owner) {
    return Request.forAcquire(engine, name, share, options, owner);
  }

  final Request tryAcquireRequest(Duration timeout, @Nullable Thread owner) {
    return Request.forTryAcquire(engine, name, share, options, owner, timeout);
  }

  @Override
  public L acquire() throws InterruptedException {
    Request request = acquireRequest();
    return requireAcquired(request, acquire(request));
  }

  /**
   * Throws if there is no lease. Only the wait for a set ends with neither a lease nor an
   * exception.
   */
  private L requireAcquired(Request request, @Nullable L lease) {
    if (lease == null) {
      throw new LockTimeoutException(
          name, options.waitTimeout().orElse(Duration.ZERO), request.acquisition().heldBy());
    }
    return lease;
  }

  @Override
  public Optional<L> tryAcquire() {
    return isBusy(null)
        ? Optional.empty()
        : engine.callUninterrupted(() -> tryAcquire(Duration.ZERO));
  }

  @Override
  public Optional<L> tryAcquire(Duration timeout) throws InterruptedException {
    return Optional.ofNullable(acquire(tryAcquireRequest(timeout, null)));
  }

  @Override
  public CompletableFuture<L> acquireAsync() {
    Request request = acquireRequest();
    return acquireAsync(request, lease -> requireAcquired(request, lease));
  }

  @Override
  public CompletableFuture<Optional<L>> tryAcquireAsync() {
    try {
      return isBusy(null)
          ? CompletableFuture.completedFuture(Optional.empty())
          : tryAcquireAsync(Duration.ZERO);
    } catch (LockConfigurationException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  @Override
  public CompletableFuture<Optional<L>> tryAcquireAsync(Duration timeout) {
    return acquireAsync(tryAcquireRequest(timeout, null), Optional::ofNullable);
  }
}
