package dev.interlock.storm;

/** A fault that was dealt and is in force until it is closed. */
interface Injection extends AutoCloseable {

  /** Who was hit, for example {@code process-1} or {@code redlock-3}. */
  String target();

  /**
   * Whether it was seen to strike: a byte swallowed, a connection reset, a process seen to stand
   * still. Asked before it is closed.
   */
  default boolean tookEffect() {
    return true;
  }

  /** What else there is to say, or nothing. */
  default String note() {
    return "";
  }

  /** Ends it; returns when that can be seen. */
  @Override
  void close() throws Exception;
}
