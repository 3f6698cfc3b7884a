package dev.interlock.redis.server;

import org.jspecify.annotations.Nullable;

/** Thrown if the pool of a server was closed because another server has taken its place. */
public class PoolClosedException extends NotSentException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param cause the exception of the closed pool, if there was one
   */
  public PoolClosedException(@Nullable Throwable cause) {
    this("the connections to a server that was replaced were closed", cause);
  }

  PoolClosedException(String problem, @Nullable Throwable cause) {
    super(problem, cause);
  }
}
