package dev.interlock.tck.specimen;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeasedLock;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Forwards every call to another lock. */
public abstract class ForwardingLock implements DistributedLock {
  private final DistributedLock delegate;

  /**
   * For subclasses.
   *
   * @param delegate the correct lock
   */
  protected ForwardingLock(DistributedLock delegate) {
    this.delegate = delegate;
  }

  /**
   * {@return the lease that an acquisition returns; the correct one by default}
   *
   * @param lease the correct lease
   */
  protected Lease altered(Lease lease) {
    return lease;
  }

  @Override
  public String name() {
    return delegate.name();
  }

  @Override
  public Lease acquire() throws InterruptedException {
    return altered(delegate.acquire());
  }

  @Override
  public Optional<Lease> tryAcquire() {
    return delegate.tryAcquire().map(this::altered);
  }

  @Override
  public Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException {
    return delegate.tryAcquire(timeout).map(this::altered);
  }

  @Override
  public CompletableFuture<Lease> acquireAsync() {
    return new ForwardingFuture<>(delegate.acquireAsync(), this::altered);
  }

  @Override
  public CompletableFuture<Optional<Lease>> tryAcquireAsync() {
    return new ForwardingFuture<>(delegate.tryAcquireAsync(), lease -> lease.map(this::altered));
  }

  @Override
  public CompletableFuture<Optional<Lease>> tryAcquireAsync(Duration timeout) {
    return new ForwardingFuture<>(
        delegate.tryAcquireAsync(timeout), lease -> lease.map(this::altered));
  }

  @Override
  public LeasedLock asLock() {
    return delegate.asLock();
  }
}
