package dev.interlock.internal;

import static java.util.Objects.requireNonNull;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.Registration;
import dev.interlock.spi.Deadline;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The program's lease of one name, or of several that are held together. When the lease becomes
 * unreachable, its grants are no longer renewed (LEASE-09).
 */
abstract class ProgramLease implements Lease {

  abstract Engine engine();

  abstract List<LeaseState> members();

  abstract Observers observers();

  /** Returns the remaining validity, whether it is held or not. */
  abstract Duration remaining();

  static long tokenOf(LeaseState lease) {
    if (lease.token() == 0) {
      throw new UnsupportedOperationException(
          "the backend " + lease.engine().backend.name() + " has no fencing tokens");
    }
    return lease.token();
  }

  @Override
  public Duration remainingValidity() {
    return isHeld() ? remaining() : Duration.ZERO;
  }

  @Override
  public Duration effectiveTtl() {
    return Collections.min(
        members().stream().map(member -> member.grant().grant().effectiveTtl()).toList());
  }

  @Override
  public void renew() throws InterruptedException {
    renew(engine().requestDeadline());
  }

  @Override
  public CompletableFuture<@Nullable Void> renewAsync() {
    return new AsyncRequest<>(engine(), this::renew).start();
  }

  private @Nullable Void renew(Deadline deadline) throws InterruptedException {
    try {
      ensureHeld();
      List<LeaseState> members = members();
      engine().renewer.renewNow(members.stream().map(LeaseState::grant).toList(), deadline);
      members.forEach(LeaseState::ensureHeld);
    } finally {
      Reference.reachabilityFence(this);
    }
    return null;
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
  public CompletableFuture<LeaseLostException> onLoss() {
    return observers().onLoss();
  }

  @Override
  public Registration onEvent(Consumer<? super LockEvent> listener) {
    return observers().onEvent(requireNonNull(listener, "listener"));
  }
}
