package dev.interlock.redis;

import dev.interlock.redis.PooledNode.PoolExhaustedException;
import dev.interlock.spi.Deadline;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionFactory;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.exceptions.JedisConnectionException;

/**
 * Our connections to one server. A connection that has been idle for long is replaced before use,
 * because a firewall may have dropped it without a message to either end.
 *
 * <p>This class limits how many are lent, and lets commons-pool make any number. That one does not
 * wake the waiters when a connection breaks, interrupts them when the pool is closed, and for ever
 * counts a connection as lent that was being lent when memory ran out.
 */
final class LockPool extends ConnectionPool {

  static final Duration LONGEST_REST = Duration.ofMinutes(1);

  /** A pool makes a connection on the thread that borrows it. */
  private static final ThreadLocal<Deadline> LIMIT = new ThreadLocal<>();

  private final int size;
  private final Semaphore free;

  LockPool(
      HostAndPort address,
      JedisClientConfig config,
      GenericObjectPoolConfig<Connection> poolConfig) {
    super(new RestedFactory(address, config), unlimited(poolConfig));
    this.size = poolConfig.getMaxTotal();
    this.free = new Semaphore(size);
  }

  private static GenericObjectPoolConfig<Connection> unlimited(
      GenericObjectPoolConfig<Connection> config) {
    GenericObjectPoolConfig<Connection> unlimited = config.clone();
    unlimited.setMaxTotal(-1);
    // The close of the last pool would wait for the evictor's thread, and lose an interrupt.
    unlimited.setEvictorShutdownTimeout(Duration.ZERO);
    return unlimited;
  }

  /** How many connections may be lent at the same time. */
  int size() {
    return size;
  }

  /**
   * Lends a connection. If one has to be made, the deadline limits connecting and logging in as
   * well, not only the time-out of each step.
   *
   * @throws PoolExhaustedException if none came free in time
   * @throws IllegalStateException if the pool is closed
   */
  Connection borrow(Deadline deadline) throws Exception {
    // The first form also serves threads that are interrupted already and need not wait.
    if (!free.tryAcquire() && !free.tryAcquire(deadline.remainingNanos(), TimeUnit.NANOSECONDS)) {
      throw new PoolExhaustedException(size, null);
    }
    boolean lent = false;
    try {
      LIMIT.set(deadline);
      Connection connection = borrowObject();
      lent = true;
      return connection;
    } finally {
      LIMIT.remove();
      if (!lent) {
        free.release();
      }
    }
  }

  @Override
  public void returnResource(Connection connection) {
    try {
      super.returnResource(connection);
    } finally {
      free.release();
    }
  }

  @Override
  public void returnBrokenResource(Connection connection) {
    try {
      super.returnBrokenResource(connection);
    } finally {
      free.release();
    }
  }

  /** Closes the idle connections. The waiters fail, each woken by the one before. */
  @Override
  public void close() {
    super.close();
    free.release();
  }

  @Override
  public int getNumWaiters() {
    return free.getQueueLength();
  }

  /**
   * Does nothing. The pool calls it whenever a broken connection is returned, and would reconnect
   * on the thread that has just met the failure, which would wait for a dead server a second time.
   */
  @Override
  public void addObject() {}

  private static final class RestedFactory extends ConnectionFactory {

    private final HostAndPort address;
    private final JedisClientConfig config;

    RestedFactory(HostAndPort address, JedisClientConfig config) {
      super(address, config);
      this.address = address;
      this.config = config;
    }

    @Override
    public PooledObject<Connection> makeObject() throws Exception {
      Deadline deadline = LIMIT.get();
      if (deadline == null) {
        return super.makeObject();
      }
      LimitedSockets sockets = new LimitedSockets(address, config, deadline);
      Connection connection = new Connection(sockets, config);
      sockets.liftLimit();
      connection.setSoTimeout(config.getSocketTimeoutMillis());
      return new DefaultPooledObject<>(connection);
    }

    @Override
    public void activateObject(PooledObject<Connection> pooled) {
      if (pooled.getIdleDuration().compareTo(LONGEST_REST) > 0) {
        // The pool drops it, and tries the next or makes a new one.
        throw new JedisConnectionException("has not been used for more than " + LONGEST_REST);
      }
    }
  }
}
