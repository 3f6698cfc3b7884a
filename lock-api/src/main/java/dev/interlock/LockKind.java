package dev.interlock;

/**
 * The kind of lock that a name stands for. A name is of one kind while anybody holds it or waits
 * for it, and a semaphore then has one limit; an acquisition that disagrees fails with {@link
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
