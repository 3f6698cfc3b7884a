package dev.interlock;

import java.time.Duration;

/**
 * {@link DistributedLock#acquire()} waited as long as {@link LockOptions#waitTimeout()} allows, and
 * the lock was still held by somebody else.
 */
public final class LockTimeoutException extends LockException {

  private static final long serialVersionUID = 1L;

  /**
   * Says which lock was not had in time.
   *
   * @param name the lock's name
   * @param waited how long the caller waited
   */
  public LockTimeoutException(String name, Duration waited) {
    super("lock \"" + name + "\" was still held by another after " + waited, null);
  }
}
