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
  private final Lease right;

  /**
   * For subclasses.
   *
   * @param right the right lease
   */
  protected ForwardingLease(Lease right) {
    this.right = right;
  }

  @Override
  public String name() {
    return right.name();
  }

  @Override
  public long fencingToken() {
    return right.fencingToken();
  }

  @Override
  public boolean isHeld() {
    return right.isHeld();
  }

  @Override
  public Duration remainingValidity() {
    return right.remainingValidity();
  }

  @Override
  public Duration effectiveTtl() {
    return right.effectiveTtl();
  }

  @Override
  public void ensureHeld() {
    right.ensureHeld();
  }

  @Override
  public void renew() throws InterruptedException {
    right.renew();
  }

  @Override
  public ReleaseOutcome release() {
    return right.release();
  }

  @Override
  public CompletableFuture<@Nullable Void> renewAsync() {
    return right.renewAsync();
  }

  @Override
  public CompletableFuture<ReleaseOutcome> releaseAsync() {
    return right.releaseAsync();
  }

  @Override
  public void close() {
    right.close();
  }

  @Override
  public <T> T callWhileHeld(Callable<T> work) throws Exception {
    return right.callWhileHeld(work);
  }

  @Override
  public CompletableFuture<LeaseLostException> onLoss() {
    return right.onLoss();
  }

  @Override
  public Registration onEvent(Consumer<? super LockEvent> listener) {
    return right.onEvent(listener);
  }
}
