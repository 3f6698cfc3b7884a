package dev.interlock.redis;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.redis.Nodes.Keys;
import dev.interlock.redis.Nodes.Talk;
import dev.interlock.redis.Wire.Call;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.NotSentException;
import dev.interlock.redis.server.OwnConnection;
import dev.interlock.redis.server.Pipelines;
import dev.interlock.redis.server.PoolClosedException;
import dev.interlock.redis.server.Server;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * One server.
 *
 * <p>While only a few threads send requests, each uses its own connection, which is faster. The
 * requests of more threads share one connection, through a {@linkplain Pipelines pipeline}: one
 * write and one read for many requests.
 */
final class PooledNode {

  /** The number of threads that may use connections of their own, if there are enough. */
  private static final int MAX_SEPARATE = 8;

  /** The value of {@code maxSeparate} with which requests never share a connection. */
  static final int NEVER_JOINED = Integer.MAX_VALUE;

  /** The maximum number of scans in one call while no key is found. */
  private static final int MAX_SCANS = 100;

  private static final AtomicLong GENERATIONS = new AtomicLong();

  private final Connections pool;
  private final int maxSeparate;
  private final Runnable onAllDropped;
  private final AtomicInteger senders = new AtomicInteger();

  /**
   * Changes whenever all connections are dropped. A connection of an earlier generation is closed.
   */
  private volatile long generation = GENERATIONS.incrementAndGet();

  /** Null until many threads send requests at the same time. */
  private volatile @Nullable Pipelines pipeline;

  @GuardedBy("this")
  private boolean closed;

  /** Creates a node whose requests never share a connection. */
  PooledNode(Connections pool) {
    this(pool, NEVER_JOINED, () -> {});
  }

  /**
   * Creates a node.
   *
   * @param maxSeparate the number of threads that may use connections of their own; {@link
   *     #NEVER_JOINED} if the pool is not ours
   * @param onAllDropped runs whenever all connections are dropped, on the caller's thread; must not
   *     block
   */
  PooledNode(Connections pool, int maxSeparate, Runnable onAllDropped) {
    this.pool = pool;
    this.maxSeparate = maxSeparate;
    this.onAllDropped = onAllDropped;
  }

  /** Returns a number of threads that can use connections of their own without waiting for them. */
  static int maxSeparate(int connections) {
    return connections == 1 ? NEVER_JOINED : Math.min(MAX_SEPARATE, connections - 1);
  }

  Connections pool() {
    return pool;
  }

  /**
   * Runs a script that may be executed twice.
   *
   * @return the server's reply
   * @throws InterruptedException if the thread was interrupted before the request was sent, or on a
   *     virtual thread at any time
   */
  Object run(Call call, Deadline deadline) throws InterruptedException {
    int senders = this.senders.incrementAndGet();
    try {
      if (senders > maxSeparate && pool instanceof LockPool ours) {
        return join(new JoinedRequest(call, deadline), ours);
      }
      return use(deadline, true, false, wire -> wire.run(call));
    } finally {
      this.senders.decrementAndGet();
    }
  }

  private Object join(JoinedRequest request, LockPool ours) throws InterruptedException {
    try {
      return request.run(pipeline(ours));
    } catch (NotSentException e) {
      throw isClosed() ? new PoolClosedException(e) : e;
    }
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  private Pipelines pipeline(LockPool ours) {
    Pipelines current = pipeline;
    return current == null ? startPipeline(ours) : current;
  }

  private synchronized Pipelines startPipeline(LockPool ours) {
    if (closed) {
      throw new PoolClosedException(null);
    }
    if (pipeline == null) {
      pipeline =
          new Pipelines(
              "interlock-redis",
              List.of(new SharedConnection(ours)),
              Duration.ofMillis(ours.config().getSocketTimeoutMillis()));
    }
    return pipeline;
  }

  /** The connection that many threads share. */
  private final class SharedConnection implements Server {
    private final LockPool ours;

    SharedConnection(LockPool ours) {
      this.ours = ours;
    }

    @Override
    public String name() {
      return ours.address().toString();
    }

    @Override
    public Link connect() {
      boolean isConnected = false;
      try {
        Deadline deadline =
            Deadline.in(
                TimeSource.system(), Duration.ofMillis(ours.config().getConnectionTimeoutMillis()));
        ours.reserve(deadline);
        try {
          Link link =
              new Link(OwnConnection.forPipeline(ours.address(), ours.config(), deadline), "");
          isConnected = true;
          return link;
        } finally {
          if (!isConnected) {
            ours.release();
          }
        }
      } catch (InterruptedException e) {
        throw new NotSentException("interrupted", e);
      } catch (JedisException e) {
        onConnectFailure(e);
        throw e;
      }
    }

    @Override
    public void onDisconnected(boolean broken) {
      ours.release();
      if (broken) {
        dropAll();
      }
    }

    @Override
    public boolean isUnusableAfter(JedisDataException answer) {
      return Failures.isOutOfService(answer);
    }
  }

  /** Drops the idle connections if no new one could be made. */
  private void onConnectFailure(JedisException e) {
    if (!(e instanceof NotSentException) && !(e instanceof JedisDataException)) {
      pool.clear();
      onAllDropped.run();
    }
  }

  private void dropAll() {
    generation = GENERATIONS.incrementAndGet();
    pool.clear();
    onAllDropped.run();
  }

  /** Closes the shared connection when its requests are answered. The pool stays open. */
  synchronized void closePipeline() {
    closed = true;
    if (pipeline != null) {
      pipeline.close();
    }
  }

  /**
   * Borrows a connection and talks over it, until the deadline at most.
   *
   * <p>Idle connections do not notice that the server has closed them, or that another server has
   * taken its place. So when one turns out to be broken, all are dropped, those in use when they
   * are given back. Otherwise a restart of the server would fail one request for each connection. A
   * repeatable talk then starts again over a new connection, unless the time-out has passed.
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
   * Returns one page of keys.
   *
   * @param cursor the cursor of the page before; null at first
   * @throws NotSentException if the server has been restarted since that page, because the cursors
   *     of another process would skip keys. A server that does not tell its process counts as
   *     restarted if all connections were dropped since
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
              String server = process.isEmpty() ? Long.toString(generation) : process;
              if (cursor != null && !server.equals(parts[0])) {
                return Optional.empty();
              }
              Keys keys = wire.scan(pattern, parts[1], count);
              // Skips pages without our keys, without asking for the process each time.
              for (int i = 1; i < MAX_SCANS && keys.keys().isEmpty(); i++) {
                if (keys.next() == null || deadline.hasPassed()) {
                  break;
                }
                keys = wire.scan(pattern, keys.next(), 10 * count);
              }
              String next = keys.next() == null ? null : server + ":" + keys.next();
              return Optional.of(new Keys(keys.keys(), next));
            });
    return found.orElseThrow(
        () ->
            new NotSentException(
                "the server may have been restarted since the listing began; start it again",
                null));
  }

  private Connection borrow(Deadline deadline) throws InterruptedException {
    if (deadline.hasPassed()) {
      throw new TooLateException();
    }
    Connection connection;
    try {
      connection = pool.borrow(deadline);
    } catch (JedisException e) {
      rethrowInterrupt();
      onConnectFailure(e);
      throw e;
    }
    if (deadline.hasPassed()) {
      // Connecting took too long. The request is not sent, so there is nothing to undo.
      pool.giveBack(connection);
      throw new TooLateException();
    }
    return connection;
  }

  private <T> T talk(Connection connection, Deadline deadline, boolean asking, Talk<T> talk) {
    long borrowedIn = generation;
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
            dropAll();
          }
        } finally {
          pool.drop(connection);
        }
      } else if (generation == borrowedIn) {
        pool.giveBack(connection);
      } else {
        pool.drop(connection);
      }
    }
  }

  /** Reports an interrupt, which on a virtual thread has broken the connection. */
  private static void rethrowInterrupt() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
  }

  /** Thrown if the deadline passed before the request was sent. */
  static final class TooLateException extends NotSentException {
    private static final long serialVersionUID = 1L;

    TooLateException() {
      super("the deadline passed before the request was sent", null);
    }
  }

  /** Thrown if no connection of the pool came free in time. */
  static final class PoolExhaustedException extends NotSentException {
    private static final long serialVersionUID = 1L;

    PoolExhaustedException(int size, @Nullable Exception cause) {
      super("all " + size + " connections are in use", cause);
    }
  }
}
