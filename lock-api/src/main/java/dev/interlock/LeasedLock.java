package dev.interlock;

import java.util.Optional;
import java.util.concurrent.locks.Lock;

/**
 * A {@link DistributedLock} as a {@link Lock}, for code that expects one. It is reentrant per
 * client, name and thread, whichever view object is used; the store sees one acquisition.
 *
 * <pre>{@code
 * LeasedLock lock = client.lock("orders/42").asLock();
 * lock.lock();
 * try {
 *   long token = lock.lease().orElseThrow().fencingToken();
 *   Order order = store.claimAndRead(42, token);
 *   store.write(order.shipped(), token);
 * } finally {
 *   lock.unlock();
 * }
 * }</pre>
 *
 * <p>{@code lock} and {@code tryLock} follow {@link DistributedLock#acquire()} and {@link
 * DistributedLock#tryAcquire()}; {@code lock} ignores interrupts and keeps the interrupt status.
 * {@code unlock} by a thread that does not hold the lock throws {@link
 * IllegalMonitorStateException}. When the lease has been lost, a nested {@code lock} and every
 * remaining {@code unlock} throw {@link LeaseLostException}; the last {@code unlock} ends the hold.
 * {@code newCondition} throws {@link UnsupportedOperationException}. If a thread ends while it
 * holds the lock, the client stops renewing it and logs a warning.
 */
public interface LeasedLock extends Lock {

  /**
   * Returns the lease with which the calling thread holds the lock, for its {@linkplain
   * Lease#fencingToken() fencing token} and its {@linkplain Lease#onLoss() loss signal}. Other
   * threads may use the lease, too. Does not contact the store.
   *
   * <p>From the thread's first {@code lock} to its last {@code unlock} all calls return the same
   * lease, whichever view object of the client is used, and however often the thread has locked. A
   * lost lease is returned until the last {@code unlock}. The result is empty on every other
   * thread, after the last {@code unlock}, and for one side of a read-write lock while the thread
   * holds the other.
   *
   * <p>End the hold with {@code unlock}. If the lease is released instead, the lock is free at
   * once, but the thread's hold continues: a nested {@code lock} and every {@code unlock} but the
   * last throw {@link IllegalStateException}.
   *
   * @return the lease, which may have been lost; empty if the calling thread does not hold the lock
   */
  Optional<Lease> lease();
}
