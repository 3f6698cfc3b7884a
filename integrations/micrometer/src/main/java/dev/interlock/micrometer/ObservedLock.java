package dev.interlock.micrometer;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeasedLock;
import dev.interlock.LockKind;

/** Observes the acquisitions of a lock. */
final class ObservedLock extends ObservedAcquirable<Lease> implements DistributedLock {

  private final DistributedLock delegate;

  ObservedLock(DistributedLock delegate, LockKind kind, LockObserver observer) {
    super(delegate, kind, delegate.name(), observer, ObservedLease::new);
    this.delegate = delegate;
  }

  @Override
  public String name() {
    return delegate.name();
  }

  @Override
  public LeasedLock asLock() {
    return delegate.asLock();
  }
}
