package dev.interlock;

/** A listener that is registered, until it is removed by {@link #close()}. */
public interface Subscription extends AutoCloseable {

  /**
   * Removes the listener. Does not block: a call of the listener that is under way ends as usual,
   * and no other begins. Events that have not been delivered yet are dropped. Closing again does
   * nothing.
   */
  @Override
  void close();
}
