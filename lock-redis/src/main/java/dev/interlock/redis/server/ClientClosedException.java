package dev.interlock.redis.server;

/** Thrown if the program has closed the Jedis client that it passed, not only one of its pools. */
public class ClientClosedException extends PoolClosedException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param cause the exception of a closed pool
   */
  public ClientClosedException(Throwable cause) {
    super("the Jedis client is closed", cause);
  }
}
