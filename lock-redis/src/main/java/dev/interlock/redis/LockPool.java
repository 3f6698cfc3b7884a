package dev.interlock.redis;

import dev.interlock.spi.Deadline;
import java.time.Duration;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionFactory;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.exceptions.JedisConnectionException;

/**
 * The connections to one server, where they are ours. One that has lain in the pool for long is
 * replaced when it is wanted, if nobody has closed it yet, as something on the way may have
 * forgotten it without telling either end.
 */
final class LockPool extends ConnectionPool {

  static final Duration LONGEST_REST = Duration.ofMinutes(1);

  /** A pool makes a connection on the thread that borrows it. */
  private static final ThreadLocal<Deadline> LIMIT = new ThreadLocal<>();

  LockPool(
      HostAndPort address,
      JedisClientConfig config,
      GenericObjectPoolConfig<Connection> poolConfig) {
    super(new RestedFactory(address, config), poolConfig);
  }

  /**
   * Lends a connection. If one has to be made, connecting and logging in end with the deadline too,
   * and not only with the time-outs of each step.
   */
  Connection borrow(Deadline deadline) throws Exception {
    LIMIT.set(deadline);
    try {
      return borrowObject(deadline.remaining());
    } finally {
      LIMIT.remove();
    }
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
      int left = (int) Math.min(Integer.MAX_VALUE, deadline.remaining().toMillis() + 1);
      Connection connection =
          new Connection(
              address,
              DefaultJedisClientConfig.builder()
                  .from(config)
                  .connectionTimeoutMillis(Math.min(left, config.getConnectionTimeoutMillis()))
                  .socketTimeoutMillis(Math.min(left, config.getSocketTimeoutMillis()))
                  .build());
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
