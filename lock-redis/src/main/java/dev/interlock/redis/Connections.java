package dev.interlock.redis;

import dev.interlock.redis.PooledNode.PoolExhaustedException;
import dev.interlock.redis.server.PoolClosedException;
import dev.interlock.spi.Deadline;
import redis.clients.jedis.Connection;

/**
 * Connections to one server, lent to one thread at a time. Equal if the connections are the same.
 */
interface Connections {

  /**
   * Lends a connection, and makes one if none is idle.
   *
   * @throws PoolExhaustedException if none came free in time
   * @throws PoolClosedException if this is closed, perhaps meanwhile
   * @throws redis.clients.jedis.exceptions.JedisException if none could be made
   */
  Connection borrow(Deadline deadline) throws InterruptedException;

  /** Takes a connection back. */
  void giveBack(Connection connection);

  /** Takes a broken connection back. */
  void drop(Connection connection);

  /** Closes the connections that are not lent. */
  void clear();

  /** Makes a connection that does not count. Blocks while it connects. */
  Connection dedicated();

  boolean isClosed();

  /** Closes the connections, unless they are the program's. */
  void close();
}
