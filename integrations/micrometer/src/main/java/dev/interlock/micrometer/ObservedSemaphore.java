package dev.interlock.micrometer;

import dev.interlock.Acquirable;
import dev.interlock.DistributedSemaphore;
import dev.interlock.Lease;
import dev.interlock.LockKind;

/** Observes the acquisitions of a semaphore. */
final class ObservedSemaphore extends ObservedAcquirable<Lease> implements DistributedSemaphore {

  private final DistributedSemaphore delegate;
  private final LockObserver observer;

  ObservedSemaphore(DistributedSemaphore delegate, LockObserver observer) {
    super(delegate, LockKind.SEMAPHORE, delegate.name(), observer, ObservedLease::new);
    this.delegate = delegate;
    this.observer = observer;
  }

  @Override
  public String name() {
    return delegate.name();
  }

  @Override
  public int limit() {
    return delegate.limit();
  }

  @Override
  public Acquirable<Lease> permits(int permits) {
    return new ObservedAcquirable<>(
        delegate.permits(permits), LockKind.SEMAPHORE, name(), observer, ObservedLease::new);
  }
}
