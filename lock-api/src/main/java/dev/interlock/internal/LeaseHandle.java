package dev.interlock.internal;

import static java.util.Objects.requireNonNull;

import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.ReleaseOutcome;
import dev.interlock.Subscription;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.DeferrableLease;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The program's lease. When it becomes unreachable it is no longer renewed (LEASE-09). */
class LeaseHandle implements DeferrableLease {

  private final LeaseState state;

  @SuppressWarnings("this-escape") // only to be referred to
  LeaseHandle(LeaseState state) {
    this.state = state;
    state.heldThrough(this);
  }

  @Override
  public String name() {
    return state.name();
  }

  @Override
  public long fencingToken() {
    return tokenOf(state);
  }

  static long tokenOf(LeaseState lease) {
    if (lease.token() == 0) {
      throw new UnsupportedOperationException(
          lease.engine().backend.name() + " has no fencing tokens");
    }
    return lease.token();
  }

  @Override
  public boolean isHeld() {
    return state.isHeld();
  }

  @Override
  public Duration remainingValidity() {
    return state.isHeld() ? state.left() : Duration.ZERO;
  }

  @Override
  public Duration effectiveTtl() {
    return state.grant().grant().effectiveTtl();
  }

  @Override
  public void ensureHeld() {
    state.ensureHeld();
  }

  @Override
  public void renew() throws InterruptedException {
    renew(state.engine().requestDeadline());
  }

  @Override
  public CompletableFuture<@Nullable Void> renewAsync() {
    return new AsyncRequest<>(state.engine(), this::renew).start();
  }

  private @Nullable Void renew(Deadline deadline) throws InterruptedException {
    try {
      ensureHeld();
      state.engine().renewer.renewNow(List.of(state.grant()), deadline);
      state.ensureHeld();
    } finally {
      Reference.reachabilityFence(this);
    }
    return null;
  }

  @Override
  public ReleaseOutcome release() {
    StackRoom.require();
    return state.release(null);
  }

  @Override
  public ReleaseOutcome releaseAfter(Duration delay) {
    requireNonNull(delay, "delay");
    StackRoom.require();
    return state.releaseAfter(delay);
  }

  @Override
  public CompletableFuture<ReleaseOutcome> releaseAsync() {
    StackRoom.require();
    return new Release(state).async();
  }

  /** Stops renewing it: it ends with its validity, though the program goes on. */
  void abandon(String why) {
    state.abandon(why);
  }

  @Override
  public void close() {
    release();
  }

  @Override
  public <T> T callWhileHeld(Callable<T> work) throws Exception {
    return HeldCall.run(this, requireNonNull(work, "work"));
  }

  @Override
  public CompletableFuture<LeaseLostException> lost() {
    return state.observers().lost();
  }

  @Override
  public Subscription onEvent(Consumer<? super LockEvent> listener) {
    return state.observers().onEvent(requireNonNull(listener, "listener"));
  }

  @Override
  public String toString() {
    return "Lease[" + name() + ", token " + state.token() + ", " + state.phase() + "]";
  }
}
