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
 * Our connections to one server. A connection that has been idle for long is replaced before use,
 * because a firewall may have dropped it without a message to either end, and closed soon, because
 * it would not be used again.
 *
 * <p>Not a pool of commons-pool. That one does not wake the waiters when a connection breaks,
 * interrupts them when the pool is closed, and for ever counts a connection as lent that was being
 * lent when memory ran out. It also needs more of the processor to lend a connection than we do to
 * encode a request.
 */
final class LockPool implements Connections, AutoCloseable {

  static final Duration MAX_REST = Duration.ofMinutes(1);

  /**
   * A connection that is not lent.
   *
   * @param since when it was returned
   */
  private record Idle(Connection connection, long since) {}

  private final HostAndPort address;
  private final JedisClientConfig config;
  private final int size;
  private final long maxRest;
  private final Semaphore free;

  /** The connections that are not lent. The one that was returned last is the first. */
  private final Deque<Idle> idle = new ConcurrentLinkedDeque<>();

  private final ScheduledThreadPoolExecutor closing =
      DaemonThreads.one("interlock-redis-idle", Duration.ofSeconds(2));
  private final AtomicBoolean closingIsDue = new AtomicBoolean();
  private volatile boolean closed;

  /**
   * Makes one without a connection.
   *
   * @param size how many may be lent at the same time
   */
  LockPool(HostAndPort address, JedisClientConfig config, int size) {
    this(address, config, size, MAX_REST);
  }

  /**
   * For tests.
   *
   * @param maxRest for how long a connection may be idle
   */
  LockPool(HostAndPort address, JedisClientConfig config, int size, Duration maxRest) {
    this.address = address;
    this.config = config;
    this.size = size;
    this.maxRest = maxRest.toNanos();
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
   * Lends a connection, in the order of arrival if all are in use. If one has to be made, the
   * deadline limits connecting and logging in as well, not only the time-out of each step.
   */
  @Override
  public Connection borrow(Deadline deadline) throws InterruptedException {
    reserve(deadline);
    boolean lent = false;
    try {
      Connection connection = youngest();
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

  /** Counts one more connection as lent, which the caller makes and {@linkplain #release ends}. */
  void reserve(Deadline deadline) throws InterruptedException {
    // The first form also serves threads that are interrupted already and need not wait. It would
    // overtake those that wait, again and again where virtual threads run on few carriers.
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

  private @Nullable Connection youngest() {
    Idle first = idle.pollFirst();
    if (first == null || !isTooOld(first)) {
      return first == null ? null : first.connection();
    }
    disconnect(first.connection());
    clear(); // the others are older
    return null;
  }

  private boolean isTooOld(Idle one) {
    return System.nanoTime() - one.since() > maxRest;
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
        var unused = closing.schedule(this::closeOld, maxRest / 2, TimeUnit.NANOSECONDS);
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

  /** Closes the idle connections. The waiters fail, each woken by the one before. */
  @Override
  public void close() {
    closed = true;
    closing.shutdown();
    clear();
    free.release();
  }

  /** Returns how many connections are not lent. */
  int idle() {
    return idle.size();
  }

  /** Returns how many threads wait for a connection. */
  int waiters() {
    return free.getQueueLength();
  }
}
