package dev.interlock.jdbc;

import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend.Watch;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listens to releases for all waiters of a client. It uses one connection, which exists while there
 * are waiters and a few seconds longer. A daemon thread owns the connection, and ends with it.
 *
 * <p>Signals are hints. Waiters may miss one before the server begins to listen or when the
 * connection breaks, so they are signalled at these times, and they poll.
 */
final class PostgreSqlListener implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(PostgreSqlListener.class);

  /** One connection listens, one is kept while there are leases, and one is left for requests. */
  static final int MIN_CONNECTIONS = 3;

  private static final int PING_INTERVAL_MILLIS = 2_000;
  private static final int ANSWER_TIMEOUT_MILLIS = 5_000;
  private static final long MAX_IDLE_NANOS = TimeUnit.SECONDS.toNanos(6);
  private static final long MIN_PAUSE_MILLIS = 50;
  private static final long MAX_PAUSE_MILLIS = 5_000;
  private static final long PAUSE_AFTER_REFUSAL_MILLIS = 10_000;

  private final Connections connections;
  private final String channel;
  private final String endpoint;
  private final TimeSource time;
  private final ThreadFactory threads = DaemonThreads.factory("interlock-postgresql-listener");
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // The lock guards all that follows.

  /** The waiters by the payload of their locks' notifications. */
  private final Map<String, Set<WakeUp>> waiters = new HashMap<>();

  private volatile @Nullable Connection connection;

  private boolean running;
  private boolean closed;

  /** Whether a refusal has been logged. Only the listening thread uses this. */
  private boolean refused;

  /**
   * Creates a listener that is not connected yet.
   *
   * @param connections the source of the connection
   * @param table the table of locks
   * @param endpoint the endpoint in messages
   */
  PostgreSqlListener(Connections connections, String table, String endpoint, TimeSource time) {
    this.connections = connections;
    this.channel = ReleaseChannel.of(table);
    this.endpoint = endpoint;
    this.time = time;
  }

  /** Signals at every notified release of the lock until the watch is closed. Does not block. */
  Watch watch(String name, WakeUp wakeUp) {
    String payload = ReleaseChannel.payload(name);
    lock.lock();
    try {
      if (connection == null && !running && !closed) {
        threads
            .newThread(this::run)
            .start(); // the thread first waits for this lock; if it cannot start, nothing has
        // changed
        running = true;
      }
      waiters.computeIfAbsent(payload, p -> new HashSet<>()).add(wakeUp);
      if (connection != null) {
        wakeUp.signal();
      }
    } finally {
      lock.unlock();
    }
    return () -> remove(payload, wakeUp);
  }

  private void remove(String payload, WakeUp wakeUp) {
    lock.lock();
    try {
      Set<WakeUp> others = waiters.get(payload);
      if (others != null && others.remove(wakeUp) && others.isEmpty()) {
        waiters.remove(payload);
      }
    } finally {
      lock.unlock();
    }
  }

  /** {@return whether watchers are currently notified of releases} */
  boolean isListening() {
    return connection != null;
  }

  /** Connects and listens until there are no waiters. */
  private void run() {
    long pause = MIN_PAUSE_MILLIS;
    while (isNeeded()) {
      try {
        if (!listenIfPossible()) {
          await(PAUSE_AFTER_REFUSAL_MILLIS);
        }
        pause = MIN_PAUSE_MILLIS;
      } catch (SQLException e) {
        boolean wasListening = disconnect();
        if (Failures.isRefusedForGood(e)) {
          refuse(e);
          pause = PAUSE_AFTER_REFUSAL_MILLIS;
        } else {
          log.debug("the connection that listens to releases broke; connecting again", e);
          pause = wasListening ? MIN_PAUSE_MILLIS : Math.min(MAX_PAUSE_MILLIS, pause * 2);
        }
        await(pause);
      } catch (
          Throwable e) { // other waiters need this thread, whatever a data source or driver throws
        log.error(
            "the listener to releases failed, because of a bug; waiters poll until it"
                + " can connect again",
            e);
        boolean unused = disconnect();
        await(PAUSE_AFTER_REFUSAL_MILLIS);
      }
    }
  }

  /**
   * Listens until there are no waiters.
   *
   * @return false if the pool is currently too small, or if a pooler is in between: the listening
   *     session of the server would later serve somebody else
   */
  private boolean listenIfPossible() throws SQLException, InterruptedException {
    Borrowed borrowed =
        connections.borrowLongTerm(
            MIN_CONNECTIONS - 1, Deadline.in(time, Duration.ofMillis(ANSWER_TIMEOUT_MILLIS)));
    if (borrowed == null) {
      return false;
    }
    boolean sound = false;
    try {
      borrowed.prepare(ANSWER_TIMEOUT_MILLIS);
      boolean possible = !PostgreSqlDriver.isBehindPooler(borrowed.connection);
      if (possible) {
        listen(borrowed);
      }
      sound = true;
      return possible;
    } finally {
      connections.giveBackLongTerm(borrowed, sound);
    }
  }

  /** Returns false only once; the next waiter then starts another thread. */
  private boolean isNeeded() {
    lock.lock();
    try {
      running = !closed && !waiters.isEmpty();
      return running;
    } finally {
      lock.unlock();
    }
  }

  private void refuse(SQLException problem) {
    if (!refused) {
      refused = true;
      log.warn(
          "postgresql at {} or its driver refuses to listen to releases ({}); waiters poll until it"
              + " succeeds",
          endpoint,
          problem.getMessage());
    }
  }

  /** Wakes all waiters. Returns whether the connection was listening. */
  private boolean disconnect() {
    lock.lock();
    try {
      boolean wasListening = connection != null;
      connection = null;
      signalAll();
      return wasListening;
    } finally {
      lock.unlock();
    }
  }

  private void signalAll() {
    waiters.values().forEach(ofName -> ofName.forEach(WakeUp::signal));
  }

  private void await(long millis) {
    lock.lock();
    try {
      long remaining = TimeUnit.MILLISECONDS.toNanos(millis);
      while (!closed && remaining > 0) {
        remaining = changed.awaitNanos(remaining);
      }
    } catch (InterruptedException e) {
      // Nobody interrupts this thread, and a shorter pause is harmless.
    } finally {
      lock.unlock();
    }
  }

  private void listen(Borrowed borrowed) throws SQLException {
    Connection borrowedConnection = borrowed.connection;
    PGConnection notified = borrowedConnection.unwrap(PGConnection.class);
    execute(borrowedConnection, "LISTEN " + channel);
    boolean listens = true;
    try {
      receive(borrowedConnection, notified);
      execute(borrowedConnection, "UNLISTEN *");
      listens = false;
    } finally {
      if (listens) {
        borrowed.abort();
      }
    }
  }

  private void receive(Connection borrowedConnection, PGConnection notified) throws SQLException {
    refused = false;
    lock.lock();
    try {
      connection = borrowedConnection;
      signalAll();
    } finally {
      lock.unlock();
    }
    long lastWaiter = time.nanoTime();
    while (keepsListening(time.nanoTime() - lastWaiter > MAX_IDLE_NANOS)) {
      PGNotification[] received = notified.getNotifications(PING_INTERVAL_MILLIS);
      lock.lock();
      try {
        lastWaiter = waiters.isEmpty() ? lastWaiter : time.nanoTime();
        for (PGNotification one : received == null ? new PGNotification[0] : received) {
          waiters.getOrDefault(one.getParameter(), Set.of()).forEach(WakeUp::signal);
        }
      } finally {
        lock.unlock();
      }
      if (received == null || received.length == 0) {
        // Without traffic, a silently broken connection would go unnoticed.
        execute(borrowedConnection, "SELECT 1");
      }
    }
  }

  private boolean keepsListening(boolean idle) {
    lock.lock();
    try {
      if (closed || (idle && waiters.isEmpty())) {
        connection = null;
      }
      return connection != null;
    } finally {
      lock.unlock();
    }
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      boolean unused = statement.execute(sql);
    }
  }

  @Override
  public void close() {
    Connection current;
    lock.lock();
    try {
      closed = true;
      current = connection;
      waiters.clear();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    if (current != null) {
      try {
        current.abort(Runnable::run);
      } catch (SQLException e) {
        // Broken already.
      }
    }
  }
}
