package dev.interlock.tck.specimen;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeasedLock;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Forwards every call to another lock. */
public abstract class ForwardingLock implements DistributedLock {
  private final DistributedLock right;

  /**
   * For subclasses.
   *
   * @param right the right lock
   */
  protected ForwardingLock(DistributedLock right) {
    this.right = right;
  }

  /**
   * {@return the lease that an acquisition returns; the right one by default}
   *
   * @param lease the right lease
   */
  protected Lease altered(Lease lease) {
    return lease;
  }

  @Override
  public String name() {
    return right.name();
  }

  @Override
  public Lease acquire() throws InterruptedException {
    return altered(right.acquire());
  }

  @Override
  public Optional<Lease> tryAcquire() {
    return right.tryAcquire().map(this::altered);
  }

  @Override
  public Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException {
    return right.tryAcquire(timeout).map(this::altered);
  }

  @Override
  public CompletableFuture<Lease> acquireAsync() {
    return new ForwardingFuture<>(right.acquireAsync(), this::altered);
  }

  @Override
  public CompletableFuture<Optional<Lease>> tryAcquireAsync() {
    return new ForwardingFuture<>(right.tryAcquireAsync(), lease -> lease.map(this::altered));
  }

  @Override
  public CompletableFuture<Optional<Lease>> tryAcquireAsync(Duration timeout) {
    return new ForwardingFuture<>(
        right.tryAcquireAsync(timeout), lease -> lease.map(this::altered));
  }

  @Override
  public LeasedLock asLock() {
    return right.asLock();
  }
}
