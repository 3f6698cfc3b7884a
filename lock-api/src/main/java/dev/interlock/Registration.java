package dev.interlock;

/** The registration of a listener; {@link #close()} removes it. */
public interface Registration extends AutoCloseable {

  /**
   * Removes the listener. Does not block: a call of the listener that has begun, or is about to,
   * takes place as usual, and no other does. Undelivered events are dropped. Closing again does
   * nothing.
   */
  @Override
  void close();
}
