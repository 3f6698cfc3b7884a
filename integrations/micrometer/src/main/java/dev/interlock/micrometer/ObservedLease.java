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

  private final Lease right;
  private final ObservedHold hold;

  ObservedLease(Lease right, ObservedHold hold) {
    this.right = right;
    this.hold = hold;
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
  public CompletableFuture<@Nullable Void> renewAsync() {
    return right.renewAsync();
  }

  @Override
  public ReleaseOutcome release() {
    ReleaseOutcome outcome = right.release();
    hold.released(outcome);
    return outcome;
  }

  @Override
  public CompletableFuture<ReleaseOutcome> releaseAsync() {
    return right.releaseAsync();
  }

  @Override
  public void close() {
    release();
  }

  @Override
  public CompletableFuture<LeaseLostException> onLoss() {
    return right.onLoss();
  }

  @Override
  public <T> T callWhileHeld(Callable<T> work) throws Exception {
    return right.callWhileHeld(() -> hold.call(work));
  }

  @Override
  public Registration onEvent(Consumer<? super LockEvent> listener) {
    return right.onEvent(listener);
  }

  @Override
  public String toString() {
    return right.toString();
  }
}
