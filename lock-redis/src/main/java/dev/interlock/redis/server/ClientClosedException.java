package dev.interlock.redis.server;

/** The Jedis client that the program brought was closed, and not only one of its pools. */
public class ClientClosedException extends PoolClosedException {
  private static final long serialVersionUID = 1L;

  /**
   * Says so.
   *
   * @param cause what a closed pool threw
   */
  public ClientClosedException(Throwable cause) {
    super("the Jedis client is closed", cause);
  }
}
