package dev.interlock.redis.server;

/** The pool that was closed is that of a Jedis client that the program brought. */
public class ClientClosedException extends PoolClosedException {
  private static final long serialVersionUID = 1L;

  /**
   * Says so.
   *
   * @param cause what the closed client threw
   */
  public ClientClosedException(Throwable cause) {
    super("the Jedis client is closed", cause);
  }
}
