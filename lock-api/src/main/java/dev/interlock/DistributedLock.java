package dev.interlock;

/**
 * A lock of one name. Has no state, costs little to create, and needs no closing.
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
   * {@return the lock as a {@link java.util.concurrent.locks.Lock}, which is reentrant for each
   * thread}
   */
  LeasedLock asLock();
}
