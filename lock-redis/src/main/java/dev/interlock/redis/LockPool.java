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
 * The connections to one server, where they are ours. One that has lain in the pool for long is
 * replaced when it is wanted, if nobody has closed it yet, as something on the way may have
 * forgotten it without telling either end.
 *
 * <p>How many may be lent is counted here, and commons-pool makes as many as it is asked for. It
 * does not wake those who wait for a connection when one breaks, it interrupts them when the pool
 * is closed, and a connection that was being lent when memory ran out counts as lent for ever.
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
    // Whoever closes the last pool would wait for the evictor's thread, and lose his interrupt.
    unlimited.setEvictorShutdownTimeout(Duration.ZERO);
    return unlimited;
  }

  /** How many connections may be lent at the same time. */
  int size() {
    return size;
  }

  /**
   * Lends a connection. If one has to be made, connecting and logging in end with the deadline too,
   * and not only with the time-outs of each step.
   *
   * @throws PoolExhaustedException if none came free in time
   * @throws IllegalStateException if the pool is closed
   */
  Connection borrow(Deadline deadline) throws Exception {
    // The first for threads that are interrupted already, and need not wait.
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

  /** Closes what is not lent. Those who wait are told so, each by the one before. */
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
   * Does nothing. The pool calls it whenever a broken connection is given back, and would connect
   * anew on the thread that has just met the failure: to a server that does not answer, the caller
   * would wait a second time.
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
        // The pool drops it, and goes on to the next or makes a new one.
        throw new JedisConnectionException("has not been used for more than " + LONGEST_REST);
      }
    }
  }
}
