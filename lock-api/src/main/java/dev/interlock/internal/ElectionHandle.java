package dev.interlock.internal;

import dev.interlock.DistributedLock;
import dev.interlock.Election;
import dev.interlock.Lease;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.Subscription;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** An election: the lock of its name, and who holds it. */
record ElectionHandle(DefaultLockClient engine, DistributedLock lock, LockOptions options)
    implements Election {

  @Override
  public String name() {
    return lock.name();
  }

  @Override
  public Lease campaign() throws InterruptedException {
    return lock.acquire();
  }

  @Override
  public Optional<Lease> campaign(Duration timeout) throws InterruptedException {
    return lock.tryAcquire(timeout);
  }

  @Override
  public CompletableFuture<Lease> campaignAsync() {
    return lock.acquireAsync();
  }

  @Override
  public Candidacy run(LeaderWork work) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Optional<Leader> leader() {
    LockState state = engine.inspect(name());
    return state.holders().stream().findFirst().map(Shown::new);
  }

  @Override
  public Subscription observe(Consumer<? super Optional<Leader>> listener) {
    throw new UnsupportedOperationException();
  }

  private record Shown(Optional<String> label, OptionalLong fencingToken) implements Leader {
    Shown(LockState.Holder holder) {
      this(holder.label(), holder.fencingToken());
    }
  }

  @Override
  public String toString() {
    return "Election[" + name() + " on " + engine.endpoint() + "]";
  }
}
