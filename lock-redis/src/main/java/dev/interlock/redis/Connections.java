package dev.interlock.redis;

import dev.interlock.redis.PooledNode.PoolExhaustedException;
import dev.interlock.redis.server.PoolClosedException;
import dev.interlock.spi.Deadline;
import redis.clients.jedis.Connection;

/**
 * A pool of connections to one server, each lent to one thread at a time. Two objects are equal if
 * they lend the same connections.
 */
interface Connections {

  /**
   * Lends a connection, and makes one if none is idle.
   *
   * @throws PoolExhaustedException if no connection came free in time
   * @throws PoolClosedException if the pool is closed, perhaps during the call
   * @throws redis.clients.jedis.exceptions.JedisException if no connection could be made
   */
  Connection borrow(Deadline deadline) throws InterruptedException;

  void giveBack(Connection connection);

  /** Closes a connection that was lent, because it is broken. */
  void drop(Connection connection);

  /** Closes the connections that are not lent. */
  void clear();

  /** Opens a connection outside of the pool. Blocks while it connects. */
  Connection dedicated();

  boolean isClosed();

  /** Closes the pool, unless it belongs to the program. */
  void close();
}
