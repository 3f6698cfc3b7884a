package dev.interlock;

import java.util.concurrent.locks.Lock;

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
   * Returns a view of the lock as {@link Lock}, which is reentrant per client, name and thread,
   * whichever view object is used. The store sees one acquisition.
   *
   * <p>{@code lock} and {@code tryLock} follow {@link #acquire()} and {@link #tryAcquire()}; {@code
   * lock} ignores interrupts and keeps the interrupt status. {@code unlock} by a thread that does
   * not hold the lock throws {@link IllegalMonitorStateException}. When the lease has been lost, a
   * nested {@code lock} and every remaining {@code unlock} throw {@link LeaseLostException}; the
   * last {@code unlock} ends the hold. {@code newCondition} throws {@link
   * UnsupportedOperationException}. If a thread ends while it holds the lock, renewal stops and a
   * warning is logged.
   *
   * @return a view
   */
  Lock asLock();
}
