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
 * <p>Every acquisition has a lease of its own: with a TTL and a loss signal like that of a lock,
 * and renewed in the background. So the permits of a process that dies come back after its TTL, and
 * a permit can be released only once, by its lease.
 *
 * <p>All clients have to agree on the limit while anybody holds a permit or waits for one; an
 * acquisition with another limit fails with {@link LockConfigurationException}. To change the
 * limit, first release all permits.
 *
 * <p>Where the store keeps a queue ({@link Capability#FIFO}), permits are granted in the order in
 * which the requests reached it: a request for one permit does not overtake one for three.
 * Elsewhere a waiting request for several permits keeps out smaller ones that come after it, until
 * it has been served.
 *
 * <p>A lease's fencing token is higher than those of all leases granted before it, which makes it a
 * unique number. Since several leases are valid together, a store cannot use it to refuse a late
 * writer.
 *
 * <p>The methods inherited from {@link Acquirable} acquire one permit.
 */
@CheckReturnValue
public interface DistributedSemaphore extends Acquirable<Lease> {

  /** {@return the semaphore's name} */
  String name();

  /** {@return how many permits there are} */
  int limit();

  /**
   * Returns the methods that acquire several permits at once, all or none.
   *
   * @param permits how many, from 1 to the {@link #limit()}
   * @return the methods that acquire that many
   * @throws IllegalArgumentException if the number is out of range
   */
  Acquirable<Lease> permits(int permits);
}
