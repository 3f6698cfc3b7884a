package dev.interlock.redis;

import dev.interlock.redis.Nodes.Keys;
import dev.interlock.redis.Nodes.Talk;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.NotSentException;
import dev.interlock.redis.server.PoolClosedException;
import dev.interlock.spi.Deadline;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.commons.pool2.PooledObjectFactory;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/** One server, reached through a pool of connections. */
final class PooledNode {

  /** How often to scan in one call while nothing is found. */
  private static final int MAX_SCANS = 100;

  private final Pool<Connection> pool;
  private final @Nullable BrokenConnections broken;
  private final Runnable doubt;

  private static final AtomicLong GENERATIONS = new AtomicLong();

  /** A new number whenever all connections are given up; those of earlier ones are dropped. */
  private volatile long generation = GENERATIONS.incrementAndGet();

  /**
   * A node with any pool.
   *
   * @param broken takes the broken connections of a pool that is not ours
   */
  PooledNode(Pool<Connection> pool, @Nullable BrokenConnections broken) {
    this(pool, broken, () -> {});
  }

  /**
   * A node whose place another one may take.
   *
   * @param broken takes the broken connections of a pool that is not ours
   * @param doubt runs whenever all connections are given up, on the caller's thread; must not block
   */
  PooledNode(Pool<Connection> pool, @Nullable BrokenConnections broken, Runnable doubt) {
    this.pool = pool;
    this.broken = broken;
    this.doubt = doubt;
  }

  Pool<Connection> pool() {
    return pool;
  }

  /**
   * Borrows a connection and talks over it, until the deadline at most.
   *
   * <p>Idle connections do not notice that the server has closed them, or that another server has
   * taken its place. When one turns out to be broken, all are dropped, those in use when they are
   * returned; so a restart of the server does not fail one request per connection. A repeatable
   * talk then starts again over a new connection, unless the server has answered.
   */
  <T> T use(Deadline deadline, boolean repeatable, boolean asking, Talk<T> talk)
      throws InterruptedException {
    Connection connection = borrow(deadline);
    try {
      return talk(connection, deadline, asking, talk);
    } catch (JedisConnectionException e) {
      rethrowInterrupt();
      if (!repeatable || Failures.isTimeout(e) || deadline.hasPassed()) {
        throw e;
      }
    }
    try {
      return talk(borrow(deadline), deadline, asking, talk);
    } catch (JedisConnectionException e) {
      rethrowInterrupt();
      throw e;
    }
  }

  /**
   * Looks at some keys.
   *
   * @param cursor what the call before returned; null at first
   * @throws NotSentException if the server has been restarted since that call, as the cursors of
   *     another process would skip keys; if it does not say so, because all connections were given
   *     up since
   */
  Keys scan(String pattern, @Nullable String cursor, int count, Deadline deadline)
      throws InterruptedException {
    String[] parts = cursor == null ? new String[] {"", "0"} : cursor.split(":", 2);
    Optional<Keys> found =
        use(
            deadline,
            true,
            false,
            wire -> {
              String process = wire.process();
              String now = process.isEmpty() ? Long.toString(generation) : process;
              if (cursor != null && !now.equals(parts[0])) {
                return Optional.empty();
              }
              Keys keys = wire.scan(pattern, parts[1], count);
              // Passes the keys of others without a request for the process each time.
              for (int i = 1; i < MAX_SCANS && keys.keys().isEmpty(); i++) {
                if (keys.next() == null || deadline.hasPassed()) {
                  break;
                }
                keys = wire.scan(pattern, keys.next(), 10 * count);
              }
              String next = keys.next() == null ? null : now + ":" + keys.next();
              return Optional.of(new Keys(keys.keys(), next));
            });
    return found.orElseThrow(
        () ->
            new NotSentException(
                "the server may have been restarted since the listing began; begin it again",
                null));
  }

  private Connection borrow(Deadline deadline) throws InterruptedException {
    try {
      if (deadline.hasPassed()) {
        throw new TooLateException();
      }
      Connection connection =
          pool instanceof LockPool ours
              ? ours.borrow(deadline)
              : pool.borrowObject(deadline.remaining());
      if (deadline.hasPassed()) {
        // Connecting took too long. A request that was not sent needs no undo.
        pool.returnResource(connection);
        throw new TooLateException();
      }
      return connection;
    } catch (NotSentException | JedisDataException e) {
      throw e;
    } catch (InterruptedException e) {
      if (pool.isClosed() && !(pool instanceof LockPool)) {
        // A pool that is closed interrupts its waiters.
        throw new PoolClosedException(e);
      }
      throw e;
    } catch (JedisException e) {
      rethrowInterrupt();
      pool.clear();
      doubt.run();
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

  private <T> T talk(Connection connection, Deadline deadline, boolean asking, Talk<T> talk) {
    long before = generation;
    boolean ended = false;
    try {
      T answer = Wire.talk(connection, deadline, asking, talk);
      ended = true;
      return answer;
    } catch (JedisDataException e) {
      ended = true;
      throw e;
    } finally {
      if (!ended || connection.isBroken()) {
        try {
          if (!Thread.currentThread().isInterrupted()) {
            generation = GENERATIONS.incrementAndGet();
            pool.clear();
            doubt.run();
          }
        } finally {
          drop(connection);
        }
      } else if (generation == before) {
        pool.returnResource(connection);
      } else {
        drop(connection);
      }
    }
  }

  private void drop(Connection connection) {
    if (broken == null) {
      pool.returnBrokenResource(connection);
    } else {
      broken.giveBack(pool, connection);
    }
  }

  /** Makes a connection that does not belong to the pool. */
  Connection dedicated() {
    PooledObjectFactory<Connection> factory = pool.getFactory();
    try {
      return factory.makeObject().getObject();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new JedisConnectionException("could not make a connection", e);
    }
  }

  void close() {
    pool.close();
  }

  /** The interrupt of a virtual thread breaks its connection. Reports the interrupt instead. */
  private static void rethrowInterrupt() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
  }

  /** The time was up before anything was sent. */
  static final class TooLateException extends NotSentException {
    private static final long serialVersionUID = 1L;

    TooLateException() {
      super("the time was up before the request was sent", null);
    }
  }

  /** No connection of the pool came free in time. */
  static final class PoolExhaustedException extends NotSentException {
    private static final long serialVersionUID = 1L;

    PoolExhaustedException(int size, @Nullable Exception cause) {
      super("all " + size + " connections are in use", cause);
    }
  }
}
