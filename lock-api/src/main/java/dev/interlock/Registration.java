package dev.interlock;

/** The registration of a listener; {@link #close()} removes it. */
public interface Registration extends AutoCloseable {

  /**
   * Removes the listener. Does not block. A call of the listener that has begun, or is about to
   * begin, takes place; no other call follows it. Undelivered events are dropped. Closing again
   * does nothing.
   */
  @Override
  void close();
}
