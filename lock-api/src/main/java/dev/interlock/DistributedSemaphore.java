package dev.interlock;

import com.google.errorprone.annotations.CheckReturnValue;

/**
 * A limited number of permits that processes acquire and release. Has no state, costs little to
 * create, and needs no closing.
 *
 * <pre>{@code
 * DistributedSemaphore exports = client.semaphore("exports", 5);
 * try (Lease lease = exports.acquire()) {            // one permit
 *   export(lease);
 * }
 * try (Lease lease = exports.permits(3).acquire()) { // three, all or none
 *   exportLarge(lease);
 * }
 * }</pre>
 *
 * <p>Every acquisition has a lease of its own. As with a lock, it has a TTL and a loss signal, and
 * is renewed in the background. If a process dies, its permits are free after their TTL. A permit
 * can be released only once, by its lease.
 *
 * <p>All clients have to agree on the limit while anybody holds a permit or waits for one. An
 * acquisition with another limit fails with {@link LockConfigurationException}. To change the
 * limit, first release all permits.
 *
 * <p>If the store keeps a queue ({@link Capability#FIFO}), permits are granted in the order in
 * which the requests reached it: a request for one permit does not overtake one for three.
 * Otherwise a waiting request for several permits keeps out smaller ones that come after it, until
 * it has been served.
 *
 * <p>A lease's fencing token is higher than those of all leases granted before it, so it is unique.
 * Several leases are valid together, so a guarded store cannot use it to refuse a late writer.
 *
 * <p>The methods inherited from {@link Acquirable} acquire one permit.
 */
@CheckReturnValue
public interface DistributedSemaphore extends Acquirable<Lease> {

  /** {@return the semaphore's name} */
  String name();

  /** {@return the number of permits that there are} */
  int limit();

  /**
   * Returns the methods that acquire the given number of permits at once, all or none.
   *
   * @param permits the number, from 1 to the {@link #limit()}
   * @return the methods
   * @throws IllegalArgumentException if the number is out of range
   */
  Acquirable<Lease> permits(int permits);
}
