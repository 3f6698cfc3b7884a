package dev.interlock.redis.server;

import redis.clients.jedis.exceptions.JedisException;

/** The Jedis client that the program brought was closed. */
public class ClientClosedException extends JedisException {
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
