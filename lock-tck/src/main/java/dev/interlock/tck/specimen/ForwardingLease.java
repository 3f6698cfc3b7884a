package dev.interlock.tck.specimen;

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

/** Forwards every call to another lease. */
public abstract class ForwardingLease implements Lease {
  private final Lease delegate;

  /**
   * For subclasses.
   *
   * @param delegate the correct lease
   */
  protected ForwardingLease(Lease delegate) {
    this.delegate = delegate;
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
  public ReleaseOutcome release() {
    return delegate.release();
  }

  @Override
  public CompletableFuture<@Nullable Void> renewAsync() {
    return delegate.renewAsync();
  }

  @Override
  public CompletableFuture<ReleaseOutcome> releaseAsync() {
    return delegate.releaseAsync();
  }

  @Override
  public void close() {
    delegate.close();
  }

  @Override
  public <T> T callWhileHeld(Callable<T> work) throws Exception {
    return delegate.callWhileHeld(work);
  }

  @Override
  public CompletableFuture<LeaseLostException> onLoss() {
    return delegate.onLoss();
  }

  @Override
  public Registration onEvent(Consumer<? super LockEvent> listener) {
    return delegate.onEvent(listener);
  }
}
