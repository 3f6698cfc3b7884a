package dev.interlock.internal;

import static java.util.Objects.requireNonNull;

import dev.interlock.LeaderElection;
import dev.interlock.Lease;
import dev.interlock.LockOptions;
import dev.interlock.Registration;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** An election. Its leader is the holder of the lock of the same name. */
record ElectionHandle(DefaultLockClient client, LockHandle lock, LockOptions options)
    implements LeaderElection {

  @Override
  public String name() {
    return lock.name();
  }

  @Override
  public Lease campaign() throws InterruptedException {
    return lock.acquire();
  }

  @Override
  public Optional<Lease> tryCampaign(Duration timeout) throws InterruptedException {
    return lock.tryAcquire(timeout);
  }

  @Override
  public CompletableFuture<Lease> campaignAsync() {
    return lock.acquireAsync();
  }

  @Override
  public Candidacy start(LeaderWork work) {
    requireNonNull(work, "work");
    return client.run(name(), options, work);
  }

  @Override
  public Optional<Leader> leader() {
    return SeenLeader.from(client.admin().inspect(name()));
  }

  @Override
  public Registration observe(Consumer<? super Optional<Leader>> listener) {
    requireNonNull(listener, "listener");
    return client.observe(name(), options, listener);
  }

  @Override
  public String toString() {
    return "LeaderElection[" + name() + " on " + client.endpoint() + "]";
  }
}
