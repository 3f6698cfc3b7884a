package dev.interlock.micrometer;

import dev.interlock.Acquirable;
import dev.interlock.DistributedSemaphore;
import dev.interlock.Lease;
import dev.interlock.LockKind;

/** Observes the acquisitions of a semaphore. */
final class ObservedSemaphore extends ObservedAcquirable<Lease> implements DistributedSemaphore {

  private final DistributedSemaphore right;
  private final LockObserver observer;

  ObservedSemaphore(DistributedSemaphore right, LockObserver observer) {
    super(right, LockKind.SEMAPHORE, right.name(), observer, ObservedLease::new);
    this.right = right;
    this.observer = observer;
  }

  @Override
  public String name() {
    return right.name();
  }

  @Override
  public int limit() {
    return right.limit();
  }

  @Override
  public Acquirable<Lease> permits(int permits) {
    return new ObservedAcquirable<>(
        right.permits(permits), LockKind.SEMAPHORE, name(), observer, ObservedLease::new);
  }
}
