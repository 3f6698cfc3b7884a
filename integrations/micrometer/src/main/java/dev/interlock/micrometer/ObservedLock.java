package dev.interlock.micrometer;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeasedLock;
import dev.interlock.LockKind;

/** Observes the acquisitions of a lock. */
final class ObservedLock extends ObservedAcquirable<Lease> implements DistributedLock {

  private final DistributedLock right;

  ObservedLock(DistributedLock right, LockKind kind, LockObserver observer) {
    super(right, kind, right.name(), observer, ObservedLease::new);
    this.right = right;
  }

  @Override
  public String name() {
    return right.name();
  }

  @Override
  public LeasedLock asLock() {
    return right.asLock();
  }
}
