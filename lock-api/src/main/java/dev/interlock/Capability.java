package dev.interlock;

/** An ability of a backend beyond the minimum of the contract. More may be added. */
public enum Capability {
  /** Every lease has a {@linkplain Lease#fencingToken() fencing token}. */
  FENCING,
  /** Waiters are served in the order in which their requests reached the store. */
  FIFO,
  /**
   * Every waiting client is served within some TTLs, even beside a client that acquires again as
   * soon as it has released. Backends with {@link #FIFO} promise more, so they do not declare this.
   */
  STARVATION_FREE,
  /** The cost of a release for the store does not grow with the number of waiters. */
  SINGLE_WAKEUP,
  /** The lock lives on several nodes, and works while a majority of them does. */
  REPLICATED,
  /** {@link LockAdmin#revoke(String)} works: a forced release that keeps exclusion. */
  REVOKE,
  /** {@link LockAdmin#list(String)} works. */
  LIST,
  /** {@link LockClient#readWriteLock(String)} works. */
  READ_WRITE,
  /** {@link LockClient#semaphore(String, int)} works. */
  SEMAPHORE,
  /**
   * The store itself keeps a lock for the rest of its {@linkplain LockOptions#minHold() minimum
   * hold}, and then frees it, even if the client has died.
   */
  DEFERRED_RELEASE
}
