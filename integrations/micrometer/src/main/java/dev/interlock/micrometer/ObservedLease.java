package dev.interlock.micrometer;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.Registration;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Observes the hold of a lease. */
class ObservedLease implements Lease {

  private final Lease delegate;
  private final ObservedHold hold;

  ObservedLease(Lease delegate, ObservedHold hold) {
    this.delegate = delegate;
    this.hold = hold;
  }

  @Override
  public String name() {
    return delegate.name();
  }

  @Override
  public long fencingToken() {
    return delegate.fencingToken();
  }

  @Override
  public boolean isHeld() {
    return delegate.isHeld();
  }

  @Override
  public Duration remainingValidity() {
    return delegate.remainingValidity();
  }

  @Override
  public Duration effectiveTtl() {
    return delegate.effectiveTtl();
  }

  @Override
  public void ensureHeld() {
    delegate.ensureHeld();
  }

  @Override
  public void renew() throws InterruptedException {
    delegate.renew();
  }

  @Override
  public CompletableFuture<@Nullable Void> renewAsync() {
    return delegate.renewAsync();
  }

  @Override
  public ReleaseOutcome release() {
    ReleaseOutcome outcome = delegate.release();
    hold.end(outcome);
    return outcome;
  }

  @Override
  public CompletableFuture<ReleaseOutcome> releaseAsync() {
    return delegate.releaseAsync();
  }

  @Override
  public void close() {
    release();
  }

  @Override
  public CompletableFuture<LeaseLostException> onLoss() {
    return delegate.onLoss();
  }

  @Override
  public <T> T callWhileHeld(Callable<T> work) throws Exception {
    return delegate.callWhileHeld(() -> hold.call(work));
  }

  @Override
  public Registration onEvent(Consumer<? super LockEvent> listener) {
    return delegate.onEvent(listener);
  }

  @Override
  public String toString() {
    return delegate.toString();
  }
}
