package dev.interlock.spi;

/**
 * A backend whose store keeps waiters in a queue. Here {@link #tryAcquire} never enters the queue,
 * and {@link #watch} is not used.
 *
 * <p>After a failed attempt the engine calls {@link #release} until it is answered, but then not
 * again, as it does for other backends. If a request of the attempt can still reach the store, the
 * backend has to prevent that it takes effect; otherwise the lock stays taken for a TTL.
 */
public interface QueueingBackend extends LockBackend {

  /**
   * Enters the queue for a lock. {@link #release} of the same claim must remove everything that
   * this method leaves on the store, even if this method fails.
   *
   * @param claim the identity of this place
   * @param deadline the deadline for entering the queue, not for the wait
   * @return the place
   * @throws InterruptedException see {@link LockBackend}
   */
  Place join(Claim claim, Deadline deadline) throws InterruptedException;

  /** A place in the queue. One thread at a time uses it, except for {@link #close()}. */
  interface Place extends AutoCloseable {

    /**
     * Returns whether others were ahead when the store was last asked, so that {@link #await}
     * probably has to wait. The engine reports this to listeners. While a place waits, other
     * threads of the client do not ask for permits beside it. Must neither ask the store nor block.
     *
     * @return true by default
     */
    default boolean hasPredecessor() {
      return true;
    }

    /**
     * Waits until this place is the first in the queue. May be called again after busy or an
     * interrupt, even by another thread: when a thread of a client stops waiting, the client's next
     * thread that wants the same lock takes over its place. The lock may be granted in between.
     *
     * @param deadline the deadline for the wait
     * @return granted, or busy if the deadline passed
     * @throws dev.interlock.LockUnavailableException if the place is lost or the store cannot be
     *     reached; the engine then releases the claim, and enters the queue again with another
     * @throws dev.interlock.LockConfigurationException if the wait can never succeed
     * @throws InterruptedException if the thread is interrupted while waiting
     */
    Attempt await(Deadline deadline) throws InterruptedException;

    /**
     * Stops waiting and ends watches, without blocking on the store. Unless the place was granted,
     * the engine then releases the claim, which leaves the queue. May be called more than once.
     * While the client is being closed, it may be called from another thread: an {@link #await} in
     * progress then ends with busy or a {@link dev.interlock.LockUnavailableException}.
     */
    @Override
    void close();
  }
}
