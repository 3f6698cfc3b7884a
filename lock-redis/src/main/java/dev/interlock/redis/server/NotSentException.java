package dev.interlock.redis.server;

import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisException;

/** Thrown if a request was not sent, so that its outcome is not in doubt. */
public class NotSentException extends JedisException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param problem the end of the sentence "redis at localhost:6379: …"
   * @param cause the cause, if there is one
   */
  public NotSentException(String problem, @Nullable Throwable cause) {
    super(problem, cause);
  }
}
