package dev.interlock.redis.server;

import org.jspecify.annotations.Nullable;

/** The connections to a server were closed, because another has taken its place. */
public class PoolClosedException extends NotSentException {
  private static final long serialVersionUID = 1L;

  /**
   * Says so.
   *
   * @param cause what the closed pool threw, if it did
   */
  public PoolClosedException(@Nullable Throwable cause) {
    this("the connections to a server that was replaced were closed", cause);
  }

  PoolClosedException(String problem, @Nullable Throwable cause) {
    super(problem, cause);
  }
}
