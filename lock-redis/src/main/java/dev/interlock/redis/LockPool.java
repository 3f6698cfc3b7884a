package dev.interlock.redis;

import dev.interlock.redis.PooledNode.PoolExhaustedException;
import dev.interlock.spi.Deadline;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionFactory;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/**
 * Our connections to one server. A connection that has been idle for long is replaced before use,
 * because a firewall may have dropped it without a message to either end.
 *
 * <p>This class limits how many are lent and keeps those that are not, and lets commons-pool make
 * any number, which it takes to be in use until they are closed. That one does not wake the waiters
 * when a connection breaks, interrupts them when the pool is closed, and for ever counts a
 * connection as lent that was being lent when memory ran out. It also needs more of the processor
 * to lend a connection than we do to encode a request.
 */
final class LockPool extends ConnectionPool {

  static final Duration LONGEST_REST = Duration.ofMinutes(1);

  /** A pool makes a connection on the thread that borrows it. */
  private static final ThreadLocal<Deadline> LIMIT = new ThreadLocal<>();

  /**
   * A connection that is not lent.
   *
   * @param since when it was returned
   * @param below the one that was returned before
   */
  private record Idle(Connection connection, long since, @Nullable Idle below) {}

  private final int size;
  private final Semaphore free;

  /** The connection that was returned last, and is lent next. */
  private final AtomicReference<@Nullable Idle> top = new AtomicReference<>();

  LockPool(
      HostAndPort address,
      JedisClientConfig config,
      GenericObjectPoolConfig<Connection> poolConfig) {
    super(new RestedFactory(address, config), unlimited(poolConfig));
    this.size = poolConfig.getMaxTotal();
    this.free = new Semaphore(size, true);
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
   * Lends a connection, in the order of arrival if all are in use. If one has to be made, the
   * deadline limits connecting and logging in as well, not only the time-out of each step.
   *
   * @throws PoolExhaustedException if none came free in time
   * @throws IllegalStateException if the pool is closed
   */
  Connection borrow(Deadline deadline) throws Exception {
    // The first form also serves threads that are interrupted already and need not wait. It would
    // overtake those that wait, again and again where virtual threads run on few carriers.
    boolean mayLend = !free.hasQueuedThreads() && free.tryAcquire();
    if (!mayLend && !free.tryAcquire(deadline.remainingNanos(), TimeUnit.NANOSECONDS)) {
      throw new PoolExhaustedException(size, null);
    }
    boolean lent = false;
    try {
      Connection connection = idleOrNew(deadline);
      lent = true;
      return connection;
    } finally {
      if (!lent) {
        free.release();
      }
    }
  }

  private Connection idleOrNew(Deadline deadline) throws Exception {
    long now = System.nanoTime();
    Idle idle = top.get();
    while (idle != null) {
      if (now - idle.since() > LONGEST_REST.toNanos()) {
        // So are all below it.
        clear();
        break;
      }
      if (top.compareAndSet(idle, idle.below())) {
        return idle.connection();
      }
      idle = top.get();
    }
    LIMIT.set(deadline);
    try {
      return borrowObject();
    } finally {
      LIMIT.remove();
    }
  }

  @Override
  public void returnResource(Connection connection) {
    try {
      Idle below;
      Idle returned;
      do {
        below = top.get();
        returned = new Idle(connection, System.nanoTime(), below);
      } while (!top.compareAndSet(below, returned));
      if (isClosed()) {
        clear();
      }
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

  /** Closes the idle connections. */
  @Override
  public void clear() {
    closeAll(top.getAndSet(null));
  }

  /** Closes the connections that have been idle for long. Called by the pool's own thread. */
  @Override
  public void evict() {
    long before = System.nanoTime() - getMinEvictableIdleDuration().toNanos();
    Idle all = top.get();
    // If another thread has changed them, they are looked at again some time later.
    if (top.compareAndSet(all, youngerThan(before, all))) {
      Idle old = all;
      while (old != null && old.since() - before >= 0) {
        old = old.below();
      }
      closeAll(old);
    }
  }

  private static @Nullable Idle youngerThan(long time, @Nullable Idle first) {
    return first == null || first.since() - time < 0
        ? null
        : new Idle(first.connection(), first.since(), youngerThan(time, first.below()));
  }

  private void closeAll(@Nullable Idle first) {
    for (Idle idle = first; idle != null; idle = idle.below()) {
      super.returnBrokenResource(idle.connection());
    }
  }

  @Override
  public int getNumIdle() {
    int count = 0;
    for (Idle idle = top.get(); idle != null; idle = idle.below()) {
      count++;
    }
    return count;
  }

  /** Closes the idle connections. The waiters fail, each woken by the one before. */
  @Override
  public void close() {
    super.close();
    clear();
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
  }
}
