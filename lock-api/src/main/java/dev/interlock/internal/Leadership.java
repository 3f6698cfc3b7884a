package dev.interlock.internal;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.ReleaseOutcome;
import dev.interlock.Subscription;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The lease that the work of a candidate gets. It is no longer held once the candidate withdraws,
 * so that work that checks {@link #isHeld()} ends; the lock stays taken until the work has ended,
 * so that no other leader begins before.
 */
final class Leadership implements Lease {

  private final LeaseHandle lease;
  private volatile boolean withdrawn;

  Leadership(LeaseHandle lease) {
    this.lease = lease;
  }

  void withdraw() {
    withdrawn = true;
  }

  /** Stops renewing it, because the work does not end: others lead once it has expired. */
  void abandon() {
    lease.abandon("its candidate was closed, and the work of the leader has not ended");
  }

  /** Whether the lease was lost, and not released. */
  boolean isLost() {
    try {
      lease.ensureHeld();
      return false;
    } catch (LeaseLostException e) {
      return true;
    } catch (IllegalStateException e) {
      return false;
    }
  }

  @Override
  public String name() {
    return lease.name();
  }

  @Override
  public long fencingToken() {
    return lease.fencingToken();
  }

  @Override
  public boolean isHeld() {
    return !withdrawn && lease.isHeld();
  }

  @Override
  public Duration remainingValidity() {
    return withdrawn ? Duration.ZERO : lease.remainingValidity();
  }

  @Override
  public Duration effectiveTtl() {
    return lease.effectiveTtl();
  }

  @Override
  public void ensureHeld() {
    lease.ensureHeld();
    if (withdrawn) {
      throw new IllegalStateException(
          "the leadership of \"" + name() + "\" is being released: its candidate has withdrawn");
    }
  }

  @Override
  public void renew() throws InterruptedException {
    ensureHeld();
    lease.renew();
  }

  @Override
  public CompletableFuture<@Nullable Void> renewAsync() {
    try {
      ensureHeld();
    } catch (LeaseLostException | IllegalStateException e) {
      return CompletableFuture.failedFuture(e);
    }
    return lease.renewAsync();
  }

  @Override
  public ReleaseOutcome release() {
    return lease.release();
  }

  @Override
  public CompletableFuture<ReleaseOutcome> releaseAsync() {
    return lease.releaseAsync();
  }

  @Override
  public void close() {
    lease.close();
  }

  @Override
  public CompletableFuture<LeaseLostException> lost() {
    return lease.lost();
  }

  @Override
  public <T> T callWhileHeld(Callable<T> work) throws Exception {
    return HeldCall.run(this, work);
  }

  @Override
  public Subscription onEvent(Consumer<? super LockEvent> listener) {
    return lease.onEvent(listener);
  }

  @Override
  public String toString() {
    return lease + (withdrawn ? " (withdrawn)" : "");
  }
}
