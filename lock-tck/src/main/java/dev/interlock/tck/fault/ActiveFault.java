package dev.interlock.tck.fault;

import java.time.Duration;

/** A fault that lasts until it is closed. */
public interface ActiveFault extends AutoCloseable {

  /**
   * Waits until the fault has struck.
   *
   * @param timeout how long to wait at most
   * @return whether it struck in time
   * @throws InterruptedException if the thread is interrupted while it waits
   */
  boolean awaitHit(Duration timeout) throws InterruptedException;

  @Override
  void close();
}
