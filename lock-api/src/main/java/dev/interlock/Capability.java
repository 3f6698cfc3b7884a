package dev.interlock;

/** An ability of a backend beyond what the contract asks of every backend. More may be added. */
public enum Capability {
  /** Every lease has a {@linkplain Lease#fencingToken() fencing token}. */
  FENCING,
  /** Waiters are served in the order in which their requests reached the store. */
  FIFO,
  /**
   * Every waiting client is served within some TTLs, also beside one that acquires again as soon as
   * it has released. Backends with {@link #FIFO} promise more, so they do not declare this as well.
   */
  STARVATION_FREE,
  /** What a release costs the store does not grow with the number of waiters. */
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
   * hold}, and frees it then, whatever becomes of the client.
   */
  DEFERRED_RELEASE
}
