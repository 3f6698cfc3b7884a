package dev.interlock.tck.history;

/**
 * An event in the life of one lease, as its holder saw it.
 *
 * <p>Times are those of {@link System#nanoTime()}. On Linux that is {@code CLOCK_MONOTONIC}, which
 * counts from the boot and is the same for all processes. So events of several JVMs on one Linux
 * machine can be compared; on other systems a history must not span processes.
 *
 * <p>A violation is real only if no lease is recorded as held for longer than it was. Therefore a
 * recorder reads the time of a grant <em>after</em> the acquisition has returned, and the time of a
 * release <em>before</em> the call. It computes the end of validity as the remaining validity plus
 * a time that it read <em>before</em> that.
 */
public sealed interface Event {

  /** {@return the identity of the lease, unique in the history, such as {@code worker-2/17}} */
  String lease();

  /** {@return when the event was recorded} */
  long at();

  /**
   * An acquisition succeeded.
   *
   * @param lease the lease's identity
   * @param name the lock's name
   * @param token the fencing token, or 0 if the backend has none
   * @param holder the process, client and thread, for messages
   * @param requestedAt a time before the acquisition was called
   * @param at a time after it had returned
   * @param validUntil the end of the validity unless the lease is renewed
   * @param weight the share of the name that it holds: the permits of a semaphore, 1 for a reader
   * @param capacity the whole of the name: 1 for an exclusive lock; a writer holds all of it
   */
  record Granted(
      String lease,
      String name,
      long token,
      String holder,
      long requestedAt,
      long at,
      long validUntil,
      int weight,
      int capacity)
      implements Event {

    /**
     * A lease of an exclusive lock.
     *
     * @param lease see the record
     * @param name see the record
     * @param token see the record
     * @param holder see the record
     * @param requestedAt see the record
     * @param at see the record
     * @param validUntil see the record
     */
    public Granted(
        String lease,
        String name,
        long token,
        String holder,
        long requestedAt,
        long at,
        long validUntil) {
      this(lease, name, token, holder, requestedAt, at, validUntil, 1, 1);
    }

    /** {@return whether the lease excludes all others of the name} */
    public boolean isWhole() {
      return weight == capacity;
    }

    @Override
    public String toString() {
      return "lease "
          + lease
          + " of "
          + holder
          + (isWhole() ? "" : ", " + weight + " of " + capacity)
          + (token == 0 ? "" : ", token " + token);
    }
  }

  /**
   * The validity of a lease was extended.
   *
   * @param lease the lease's identity
   * @param at when this was recorded
   * @param validUntil the end of the validity unless the lease is renewed again
   */
  record Extended(String lease, long at, long validUntil) implements Event {}

  /**
   * The holder stopped relying on the lease: it is about to release it, or has learned of its loss.
   *
   * @param lease the lease's identity
   * @param at a time before the release was called, or after the loss was reported
   */
  record Ended(String lease, long at) implements Event {}
}
