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
 * <p>While only a few threads send requests, each uses its own connection, which is faster then.
 * The requests of more threads share one connection, through a {@linkplain Pipelines pipeline}: one
 * write and one read for many requests.
 */
final class PooledNode {

  /** How many threads may go alone at the same time, if there are enough connections. */
  private static final int FEW = 8;

  /** As {@code few}: requests never share a connection. */
  static final int NEVER = Integer.MAX_VALUE;

  /** How often to scan in one call while nothing is found. */
  private static final int MAX_SCANS = 100;

  private static final AtomicLong GENERATIONS = new AtomicLong();

  private final Connections pool;
  private final int few;
  private final Runnable doubt;
  private final AtomicInteger asking = new AtomicInteger();

  /** A new number whenever all connections are given up; those of earlier ones are dropped. */
  private volatile long generation = GENERATIONS.incrementAndGet();

  /** Null until many threads ask. */
  private volatile @Nullable Pipelines pipeline;

  @GuardedBy("this")
  private boolean closed;

  /** A node whose requests never share a connection. */
  PooledNode(Connections pool) {
    this(pool, NEVER, () -> {});
  }

  /**
   * A node whose place another one may take.
   *
   * @param few how many threads may send requests before these share a connection; {@link #NEVER}
   *     if the pool is not ours
   * @param doubt runs whenever all connections are given up, on the caller's thread; must not block
   */
  PooledNode(Connections pool, int few, Runnable doubt) {
    this.pool = pool;
    this.few = few;
    this.doubt = doubt;
  }

  /** Returns how many threads may go alone, so that none has to wait for a connection as a rule. */
  static int few(int connections) {
    return connections == 1 ? NEVER : Math.min(FEW, connections - 1);
  }

  Connections pool() {
    return pool;
  }

  /**
   * Runs a script that may be carried out twice.
   *
   * @return the server's reply
   * @throws InterruptedException if the thread was interrupted before the request was sent, or on a
   *     virtual thread at any time
   */
  Object run(Call call, Deadline deadline) throws InterruptedException {
    int number = asking.incrementAndGet();
    try {
      if (number > few && pool instanceof LockPool ours) {
        return join(new JoinedRequest(call, deadline), ours);
      }
      return use(deadline, true, false, wire -> wire.run(call));
    } finally {
      asking.decrementAndGet();
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
    Pipelines present = pipeline;
    return present == null ? startPipeline(ours) : present;
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
      boolean made = false;
      try {
        Deadline deadline =
            Deadline.in(
                TimeSource.system(), Duration.ofMillis(ours.config().getConnectionTimeoutMillis()));
        ours.reserve(deadline);
        try {
          Link link =
              new Link(OwnConnection.forPipeline(ours.address(), ours.config(), deadline), "");
          made = true;
          return link;
        } finally {
          if (!made) {
            ours.release();
          }
        }
      } catch (InterruptedException e) {
        throw new NotSentException("interrupted", e);
      } catch (JedisException e) {
        noteFailure(e);
        throw e;
      }
    }

    @Override
    public void disconnected(boolean broken) {
      ours.release();
      if (broken) {
        giveUpAll();
      }
    }

    @Override
    public boolean isLostAfter(JedisDataException answer) {
      return Failures.isOutOfService(answer);
    }
  }

  /** Takes note that no connection could be made. */
  private void noteFailure(JedisException e) {
    if (!(e instanceof NotSentException) && !(e instanceof JedisDataException)) {
      pool.clear();
      doubt.run();
    }
  }

  private void giveUpAll() {
    generation = GENERATIONS.incrementAndGet();
    pool.clear();
    doubt.run();
  }

  /** Ends the shared connection when its requests are answered. The pool stays as it is. */
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
      noteFailure(e);
      throw e;
    }
    if (deadline.hasPassed()) {
      // Connecting took too long. A request that was not sent needs no undo.
      pool.giveBack(connection);
      throw new TooLateException();
    }
    return connection;
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
            giveUpAll();
          }
        } finally {
          pool.drop(connection);
        }
      } else if (generation == before) {
        pool.giveBack(connection);
      } else {
        pool.drop(connection);
      }
    }
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
      super("the deadline passed before the request was sent", null);
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
