package dev.interlock.redis.server;

import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisException;

/** Nothing was sent, so nothing is in doubt. */
public class NotSentException extends JedisException {
  private static final long serialVersionUID = 1L;

  /**
   * Says why.
   *
   * @param problem the end of the sentence "redis at localhost:6379: …"
   * @param cause what happened, if anything did
   */
  public NotSentException(String problem, @Nullable Throwable cause) {
    super(problem, cause);
  }
}
