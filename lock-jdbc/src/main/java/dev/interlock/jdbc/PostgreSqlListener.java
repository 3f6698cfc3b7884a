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
 * Listens to releases for all waiters of a client, over one connection that exists while there are
 * waiters, and a few seconds longer. One daemon thread owns the connection, and ends with it.
 *
 * <p>Signals are hints. Waiters may have missed one before the server has begun to listen, and when
 * the connection breaks, so they are signalled then, and poll.
 */
final class PostgreSqlListener implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(PostgreSqlListener.class);

  /** One to listen, one that is kept while there are leases, and one that is left for requests. */
  static final int MIN_CONNECTIONS = 3;

  private static final int POKE_MILLIS = 2_000;
  private static final int ANSWER_MILLIS = 5_000;
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(6);
  private static final long FIRST_PAUSE_MILLIS = 50;
  private static final long LONGEST_PAUSE_MILLIS = 5_000;
  private static final long PAUSE_AFTER_REFUSAL_MILLIS = 10_000;

  private final Connections connections;
  private final String channel;
  private final String endpoint;
  private final TimeSource time;
  private final ThreadFactory threads = DaemonThreads.factory("interlock-postgresql-listener");
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // The lock guards all that follows.

  /** By what is published for their names. */
  private final Map<String, Set<WakeUp>> waiters = new HashMap<>();

  /** The one that listens. */
  private volatile @Nullable Connection connection;

  private boolean running;
  private boolean closed;

  /** Only the thread that listens uses it. */
  private boolean refused;

  /**
   * Makes one that is not connected yet.
   *
   * @param connections where to get one
   * @param table the table of locks
   * @param endpoint for messages
   */
  PostgreSqlListener(Connections connections, String table, String endpoint, TimeSource time) {
    this.connections = connections;
    this.channel = ReleaseChannel.of(table);
    this.endpoint = endpoint;
    this.time = time;
  }

  /** Signals at every release of the lock that is notified, until closed. Does not block. */
  Watch watch(String name, WakeUp wakeUp) {
    String payload = ReleaseChannel.payload(name);
    lock.lock();
    try {
      if (connection == null && !running && !closed) {
        threads
            .newThread(this::run)
            .start(); // it needs the lock; if there is no thread, nothing has changed
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

  /** {@return whether those who watch hear of releases at the moment} */
  boolean isListening() {
    return connection != null;
  }

  /** Connects until nobody waits any longer. */
  private void run() {
    long pause = FIRST_PAUSE_MILLIS;
    while (isNeeded()) {
      try {
        if (!listenIfPossible()) {
          await(PAUSE_AFTER_REFUSAL_MILLIS);
        }
        pause = FIRST_PAUSE_MILLIS;
      } catch (SQLException e) {
        boolean heard = lost();
        if (Failures.isRefusedForGood(e)) {
          refuse(e);
          pause = PAUSE_AFTER_REFUSAL_MILLIS;
        } else {
          log.debug("lost the connection that listens to releases; connecting again", e);
          pause = heard ? FIRST_PAUSE_MILLIS : Math.min(LONGEST_PAUSE_MILLIS, pause * 2);
        }
        await(pause);
      } catch (Throwable e) { // whatever a data source or driver throws, others need this thread
        log.error("waiters only poll for now, because of a bug", e);
        boolean unused = lost();
        await(PAUSE_AFTER_REFUSAL_MILLIS);
      }
    }
  }

  /**
   * Listens until nobody waits.
   *
   * @return false if the pool is too small for that at the moment, or a pooler is in between, where
   *     another session of the server would listen, which goes on as somebody else's
   */
  private boolean listenIfPossible() throws SQLException, InterruptedException {
    Borrowed borrowed =
        connections.borrowForLong(
            MIN_CONNECTIONS - 1, Deadline.in(time, Duration.ofMillis(ANSWER_MILLIS)));
    if (borrowed == null) {
      return false;
    }
    boolean sound = false;
    try {
      borrowed.prepare(ANSWER_MILLIS);
      boolean possible = !PostgreSqlDriver.isBehindPooler(borrowed.connection);
      if (possible) {
        listen(borrowed);
      }
      sound = true;
      return possible;
    } finally {
      connections.giveBackAfterLong(borrowed, sound);
    }
  }

  /** Answers no only once: the next waiter then starts another thread. */
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
          "postgresql at {} or its driver does not let us listen to releases ({}); waiters poll"
              + " until it does",
          endpoint,
          problem.getMessage());
    }
  }

  /** Wakes everybody; returns whether releases had been heard before. */
  private boolean lost() {
    lock.lock();
    try {
      boolean before = connection != null;
      connection = null;
      signalAll();
      return before;
    } finally {
      lock.unlock();
    }
  }

  private void signalAll() {
    waiters.values().forEach(some -> some.forEach(WakeUp::signal));
  }

  private void await(long millis) {
    lock.lock();
    try {
      long left = TimeUnit.MILLISECONDS.toNanos(millis);
      while (!closed && left > 0) {
        left = changed.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      // Nobody interrupts this thread; a shorter pause does no harm.
    } finally {
      lock.unlock();
    }
  }

  private void listen(Borrowed borrowed) throws SQLException {
    Connection made = borrowed.connection;
    PGConnection notified = made.unwrap(PGConnection.class);
    execute(made, "LISTEN " + channel);
    boolean listens = true;
    try {
      hear(made, notified);
      execute(made, "UNLISTEN *");
      listens = false;
    } finally {
      if (listens) {
        borrowed.abort();
      }
    }
  }

  private void hear(Connection made, PGConnection notified) throws SQLException {
    refused = false;
    lock.lock();
    try {
      connection = made;
      signalAll();
    } finally {
      lock.unlock();
    }
    long lastWaiter = time.nanoTime();
    while (goesOn(time.nanoTime() - lastWaiter > IDLE_NANOS)) {
      PGNotification[] some = notified.getNotifications(POKE_MILLIS);
      lock.lock();
      try {
        lastWaiter = waiters.isEmpty() ? lastWaiter : time.nanoTime();
        for (PGNotification one : some == null ? new PGNotification[0] : some) {
          waiters.getOrDefault(one.getParameter(), Set.of()).forEach(WakeUp::signal);
        }
      } finally {
        lock.unlock();
      }
      if (some == null || some.length == 0) {
        // Without traffic a connection that has died silently would not be noticed.
        execute(made, "SELECT 1");
      }
    }
  }

  private boolean goesOn(boolean idle) {
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
