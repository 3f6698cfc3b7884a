package dev.interlock.redis;

import dev.interlock.redis.PooledNode.PoolExhaustedException;
import dev.interlock.redis.server.OwnConnection;
import dev.interlock.redis.server.PoolClosedException;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/**
 * Our own pool of connections to one server. A connection that has been idle for a minute is not
 * used again, because a firewall may have dropped it without a message to either end; it is closed
 * soon after.
 *
 * <p>This is not a pool of commons-pool, for four reasons. Commons-pool does not wake the waiters
 * when a connection breaks. It interrupts them when the pool is closed. If memory runs out while it
 * lends a connection, it counts that connection as lent forever. And lending a connection takes it
 * more processor time than we need to encode a request.
 */
final class LockPool implements Connections, AutoCloseable {

  static final Duration MAX_IDLE = Duration.ofMinutes(1);

  /**
   * A connection that is not lent.
   *
   * @param since the time of its return, by {@link System#nanoTime()}
   */
  private record Idle(Connection connection, long since) {}

  private final HostAndPort address;
  private final JedisClientConfig config;
  private final int size;
  private final long maxIdle;
  private final Semaphore free;

  /** The connections that are not lent, the last one returned first. */
  private final Deque<Idle> idle = new ConcurrentLinkedDeque<>();

  private final ScheduledThreadPoolExecutor closing =
      DaemonThreads.one("interlock-redis-idle", Duration.ofSeconds(2));
  private final AtomicBoolean closingIsDue = new AtomicBoolean();
  private volatile boolean closed;

  /**
   * Creates an empty pool.
   *
   * @param size the maximum number of connections that are lent at the same time
   */
  LockPool(HostAndPort address, JedisClientConfig config, int size) {
    this(address, config, size, MAX_IDLE);
  }

  /**
   * Creates an empty pool, for tests.
   *
   * @param maxIdle the time for which a connection may be idle
   */
  LockPool(HostAndPort address, JedisClientConfig config, int size, Duration maxIdle) {
    this.address = address;
    this.config = config;
    this.size = size;
    this.maxIdle = maxIdle.toNanos();
    this.free = new Semaphore(size, true);
  }

  int size() {
    return size;
  }

  JedisClientConfig config() {
    return config;
  }

  HostAndPort address() {
    return address;
  }

  /**
   * Lends a connection. Waiters are served in the order of arrival. The deadline limits the sum of
   * waiting, connecting and logging in.
   */
  @Override
  public Connection borrow(Deadline deadline) throws InterruptedException {
    reserve(deadline);
    boolean lent = false;
    try {
      Connection connection = pollIdle();
      if (connection == null) {
        connection = OwnConnection.to(address, config, deadline);
      }
      lent = true;
      return connection;
    } finally {
      if (!lent) {
        free.release();
      }
    }
  }

  /** Counts a connection that the caller makes as lent, until {@link #release}. */
  void reserve(Deadline deadline) throws InterruptedException {
    // The first form also serves interrupted threads that need not wait. It would overtake waiters,
    // again and again where virtual threads run on few carriers, so it is used only without
    // waiters.
    boolean mayLend = !free.hasQueuedThreads() && free.tryAcquire();
    if (!mayLend && !free.tryAcquire(deadline.remainingNanos(), TimeUnit.NANOSECONDS)) {
      throw new PoolExhaustedException(size, null);
    }
    if (closed) {
      free.release();
      throw new PoolClosedException(null);
    }
  }

  void release() {
    free.release();
  }

  private @Nullable Connection pollIdle() {
    Idle first = idle.pollFirst();
    if (first == null || !isTooOld(first)) {
      return first == null ? null : first.connection();
    }
    disconnect(first.connection());
    clear(); // the others are even older
    return null;
  }

  private boolean isTooOld(Idle one) {
    return System.nanoTime() - one.since() > maxIdle;
  }

  @Override
  public void giveBack(Connection connection) {
    try {
      idle.addFirst(new Idle(connection, System.nanoTime()));
      if (closed) {
        clear();
      } else {
        closeLater();
      }
    } finally {
      free.release();
    }
  }

  @Override
  public void drop(Connection connection) {
    try {
      disconnect(connection);
    } finally {
      free.release();
    }
  }

  private void closeLater() {
    if (!closingIsDue.get() && closingIsDue.compareAndSet(false, true)) {
      try {
        var unused = closing.schedule(this::closeOld, maxIdle / 2, TimeUnit.NANOSECONDS);
      } catch (RejectedExecutionException | OutOfMemoryError e) {
        // Closed, or no thread can be created.
        closingIsDue.set(false);
      }
    }
  }

  private void closeOld() {
    closingIsDue.set(false);
    Idle oldest = idle.peekLast();
    while (oldest != null && isTooOld(oldest)) {
      if (idle.removeLastOccurrence(oldest)) {
        disconnect(oldest.connection());
      }
      oldest = idle.peekLast();
    }
    if (oldest != null) {
      closeLater();
    }
  }

  @Override
  public void clear() {
    for (Idle one = idle.pollFirst(); one != null; one = idle.pollFirst()) {
      disconnect(one.connection());
    }
  }

  private static void disconnect(Connection connection) {
    try {
      connection.forceDisconnect();
    } catch (IOException e) {
      throw new AssertionError("Jedis closes sockets quietly", e);
    }
  }

  @Override
  public Connection dedicated() {
    return new Connection(address, config);
  }

  @Override
  public boolean isClosed() {
    return closed;
  }

  /** Closes the idle connections. The waiters fail, and each one wakes the next. */
  @Override
  public void close() {
    closed = true;
    closing.shutdown();
    clear();
    free.release();
  }

  /** Returns the number of connections that are not lent. */
  int idle() {
    return idle.size();
  }

  /** Returns the number of threads that wait for a connection. */
  int waiters() {
    return free.getQueueLength();
  }
}
