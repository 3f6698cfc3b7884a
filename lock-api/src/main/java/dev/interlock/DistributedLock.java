package dev.interlock;

/**
 * An exclusive lock, or one side of a read-write lock. Has no state, costs little to create, and
 * needs no closing.
 *
 * <pre>{@code
 * DistributedLock lock = client.lock("orders/42");
 * try (Lease lease = lock.acquire()) {
 *   Order order = store.claimAndRead(42, lease.fencingToken());
 *   store.write(order.shipped(), lease.fencingToken());
 * }
 * Optional<Lease> maybe = lock.tryAcquire(Duration.ofSeconds(5));
 * }</pre>
 */
public interface DistributedLock extends Acquirable<Lease> {

  /** {@return the lock's name} */
  String name();

  /**
   * {@return a view of this lock as a {@link java.util.concurrent.locks.Lock}, reentrant for each
   * thread}
   */
  LeasedLock asLock();
}
