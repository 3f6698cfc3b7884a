package dev.interlock.redis.server;

import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisDataException;

/** The way to the server at the end of a {@link Pipelines pipeline}. */
public interface Server {

  /**
   * A new connection.
   *
   * @param connection over which nothing is owed
   * @param process which process is at the other end; anything where that does not matter
   */
  record Link(Connection connection, String process) {}

  /** {@return its name in messages} */
  String name();

  /** {@return a connection that is ready for use} Blocks. Throws exceptions of Jedis, or ours. */
  Link connect();

  /**
   * Takes note of a connection that is about to be used.
   *
   * @param process which process is at the other end
   */
  default void connected(String process) {}

  /**
   * Takes note of the end of a connection.
   *
   * @param broken whether it was given up because of a failure
   */
  default void disconnected(boolean broken) {}

  /**
   * {@return whether to use no longer a connection over which this answer has come}
   *
   * @param answer an error
   */
  default boolean isLostAfter(JedisDataException answer) {
    return false;
  }
}
