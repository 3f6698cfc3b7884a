package dev.interlock.redis.server;

import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisDataException;

/** Connects a {@link Pipelines pipeline} to its server. */
public interface Server {

  /**
   * A new connection.
   *
   * @param connection the connection, with no outstanding replies
   * @param process the server process; any text where that does not matter
   */
  record Link(Connection connection, String process) {}

  /** {@return the name of the server in messages} */
  String name();

  /** {@return a connection that is ready for use} Blocks. Throws exceptions of Jedis, or ours. */
  Link connect();

  /**
   * Called before a new connection is used.
   *
   * @param process the server process
   */
  default void onConnected(String process) {}

  /**
   * Called after a connection was closed.
   *
   * @param broken whether it was closed because of a failure
   */
  default void onDisconnected(boolean broken) {}

  /**
   * {@return whether a connection must not be used any more after this reply}
   *
   * @param answer an error
   */
  default boolean isUnusableAfter(JedisDataException answer) {
    return false;
  }
}
