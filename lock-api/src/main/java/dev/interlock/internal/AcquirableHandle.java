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

/** How much of a name, or of a set of names, to acquire, and with which options. */
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

  /** Acquires on the calling thread; null if the time passed without a failure. */
  abstract @Nullable L acquire(Request request) throws InterruptedException;

  /** Acquires on the threads of the client, and makes the future's result. */
  abstract <R> CompletableFuture<R> acquireAsync(Request request, Function<@Nullable L, R> result);

  /** Whether an attempt that does not wait is known to be in vain. */
  boolean isBusy(@Nullable Thread owner) {
    return false;
  }

  final Request untilHad() {
    return untilHad(null);
  }

  final Request untilHad(@Nullable Thread owner) {
    return Request.untilHad(engine, name, share, options, owner);
  }

  final Request upTo(Duration timeout, @Nullable Thread owner) {
    return Request.upTo(engine, name, share, options, owner, timeout);
  }

  @Override
  public L acquire() throws InterruptedException {
    Request request = untilHad();
    return acquired(request, acquire(request));
  }

  /** Only the wait for a set ends without a lease and without an exception. */
  private L acquired(Request request, @Nullable L lease) {
    if (lease == null) {
      throw new LockTimeoutException(
          name, options.waitTimeout().orElse(Duration.ZERO), request.acquisition().heldBy());
    }
    return lease;
  }

  @Override
  public Optional<L> tryAcquire() {
    return isBusy(null) ? Optional.empty() : engine.uninterrupted(() -> tryAcquire(Duration.ZERO));
  }

  @Override
  public Optional<L> tryAcquire(Duration timeout) throws InterruptedException {
    return Optional.ofNullable(acquire(upTo(timeout, null)));
  }

  @Override
  public CompletableFuture<L> acquireAsync() {
    Request request = untilHad();
    return acquireAsync(request, lease -> acquired(request, lease));
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
    return acquireAsync(upTo(timeout, null), Optional::ofNullable);
  }
}
