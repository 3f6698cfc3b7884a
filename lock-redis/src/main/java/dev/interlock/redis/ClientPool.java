package dev.interlock.redis;

import dev.interlock.redis.PooledNode.PoolExhaustedException;
import dev.interlock.redis.server.NotSentException;
import dev.interlock.redis.server.PoolClosedException;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.util.NoSuchElementException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/**
 * The pool of a Jedis client of the program, which stays open.
 *
 * <p>Since version 2.12 commons-pool reconnects at once, on the thread that returns a broken
 * connection, so a caller would wait for a dead server a second time. Our own threads return broken
 * connections instead; they end when there is nothing to do.
 *
 * @param returning the threads that return broken connections
 */
record ClientPool(Pool<Connection> pool, ExecutorService returning) implements Connections {

  private static final Logger log = LoggerFactory.getLogger(ClientPool.class);
  private static final int MAX_THREADS = 8;

  /** Creates the threads that return broken connections to all pools of one client. */
  static ExecutorService returningThreads() {
    return DaemonThreads.several("interlock-redis-broken", MAX_THREADS, Duration.ofSeconds(2));
  }

  @Override
  public Connection borrow(Deadline deadline) throws InterruptedException {
    try {
      return pool.borrowObject(deadline.remaining());
    } catch (JedisException e) {
      throw e;
    } catch (InterruptedException e) {
      if (pool.isClosed()) {
        // A pool interrupts its waiters when it is closed.
        throw new PoolClosedException(e);
      }
      throw e;
    } catch (NoSuchElementException e) {
      throw new PoolExhaustedException(pool.getMaxTotal(), e);
    } catch (Exception e) {
      if (e instanceof IllegalStateException && pool.isClosed()) {
        throw new PoolClosedException(e);
      }
      throw new NotSentException("could not get a connection: " + e, e);
    }
  }

  @Override
  public void giveBack(Connection connection) {
    pool.returnResource(connection);
  }

  @Override
  public void drop(Connection connection) {
    try {
      connection.forceDisconnect();
    } catch (IOException e) {
      log.debug("could not close a broken connection", e);
    }
    try {
      returning.execute(() -> returnBroken(connection));
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      // Closed, or no thread can be created.
      returnBroken(connection);
    }
  }

  private void returnBroken(Connection connection) {
    try {
      pool.returnBrokenResource(connection);
    } catch (RuntimeException e) {
      log.debug("the pool could not replace a broken connection", e);
    }
  }

  @Override
  public void clear() {
    pool.clear();
  }

  @Override
  public Connection dedicated() {
    try {
      return pool.getFactory().makeObject().getObject();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new JedisConnectionException("could not make a connection", e);
    }
  }

  @Override
  public boolean isClosed() {
    return pool.isClosed();
  }

  @Override
  public void close() {
    // The pool belongs to the program.
  }
}
