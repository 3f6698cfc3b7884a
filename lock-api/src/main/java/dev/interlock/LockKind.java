package dev.interlock;

/**
 * A kind of lock. A name has one kind while anybody holds it or waits for it, and a semaphore has
 * one limit then. An acquisition with another kind or limit fails with {@link
 * LockConfigurationException}. More kinds may be added.
 */
public enum LockKind {
  /** One holder at a time: {@link LockClient#lock(String)}. */
  EXCLUSIVE,
  /** One writer, or any number of readers: {@link LockClient#readWriteLock(String)}. */
  READ_WRITE,
  /** A limited number of permits: {@link LockClient#semaphore(String, int)}. */
  SEMAPHORE
}
