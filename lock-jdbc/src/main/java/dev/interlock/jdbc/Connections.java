package dev.interlock.jdbc;

import com.google.common.base.Throwables;
import com.google.common.util.concurrent.Uninterruptibles;
import dev.interlock.spi.Claim;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.sql.SQLTransientException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Lends the connections of a data source to requests. Each request waits at most until its
 * deadline, however long the data source takes, because threads of this class fetch the
 * connections. A connection that arrives too late for its request goes to the next request, or back
 * to the data source.
 *
 * <p>While the client has grants, one connection of a program's data source is kept between
 * requests, so that a program that uses up its pool can still renew and release its locks. All
 * connections of the client's own pool are kept for a few seconds.
 *
 * <p>Some data sources choose a connection by the caller's thread, for example by its transaction
 * or tenant, and some connections join the transaction of the thread that uses them. Both meet only
 * threads of this class, which have neither a transaction nor a tenant.
 */
final class Connections implements AutoCloseable {

  /** The maximum number of threads that are not stuck in a hung call. */
  private static final int MAX_WORKERS = 16;

  /**
   * The time after which a call of the data source counts as hung: the server's packets may be
   * lost, or the pool may hang, so it may never return.
   */
  private static final long HUNG_CALL_NANOS = TimeUnit.SECONDS.toNanos(10);

  /**
   * The number of hung calls from which on the next call is made only after {@link
   * #HUNG_RETRY_NANOS}.
   */
  private static final int MAX_HUNG = 48;

  private static final long HUNG_RETRY_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** The time for which threads, and connections that need not be kept, may be idle. */
  private static final long MAX_IDLE_NANOS = TimeUnit.SECONDS.toNanos(3);

  /** The time after which an idle connection is tested, because a firewall may forget it. */
  private static final long MAX_UNTESTED_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final DataSource source;
  private final PoolShare share;

  /** The size of the client's own pool; 0 for a data source of the program. */
  private final int ownPoolSize;

  private final TimeSource time;
  private final ThreadFactory threads = DaemonThreads.factory("interlock-jdbc-connections");

  /** Has as many threads as connections are in use. */
  private final Executor users =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          MAX_IDLE_NANOS,
          TimeUnit.NANOSECONDS,
          new SynchronousQueue<>(),
          DaemonThreads.factory("interlock-jdbc-requests"));

  private final Set<String> granted = ConcurrentHashMap.newKeySet();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // The lock guards all that follows.

  /** The waiters, in the order of their arrival. */
  private final Deque<Waiter> waiters = new ArrayDeque<>();

  /** The calls of the data source that are in progress, the oldest first. */
  private final List<Call> calls = new ArrayList<>();

  private final Deque<Borrowed> idle = new ArrayDeque<>();
  private int kept;
  private boolean autoCommit;
  private int workers;
  private boolean closed;

  /** Thrown if the data source throws an exception that is not an {@link SQLException}. */
  static final class SourceException extends SQLTransientException {
    private static final long serialVersionUID = 1L;

    SourceException(Throwable problem) {
      super(
          "the data source failed on a thread of the lock client, which has no transaction and no"
              + " tenant: "
              + problem,
          problem);
    }
  }

  /** A request that waits for a connection. Its fields are written under the lock. */
  private static final class Waiter {
    final Thread thread = Thread.currentThread();
    final long since;

    /** Whether the request is for a granted claim, which is served before the others. */
    final boolean isHolder;

    volatile boolean served;
    @Nullable Borrowed connection;
    @Nullable Throwable problem;

    Waiter(long since, boolean isHolder) {
      this.since = since;
      this.isHolder = isHolder;
    }
  }

  /** A thread's call of the data source, or of one of its connections, which may hang. */
  private static final class Call {
    final long since;

    /** The connection to test if it is kept, or to return otherwise; null to fetch one. */
    final @Nullable Borrowed connection;

    Call(long since, @Nullable Borrowed connection) {
      this.since = since;
      this.connection = connection;
    }
  }

  private Connections(DataSource source, PoolShare share, int ownPoolSize, TimeSource time) {
    this.source = source;
    this.share = share;
    this.ownPoolSize = ownPoolSize;
    this.time = time;
  }

  /** Lends connections of a data source of the program. Fetches none yet. */
  static Connections ofProgram(DataSource source, TimeSource time) {
    return new Connections(source, PoolShare.of(source), 0, time);
  }

  /** Lends connections of a pool of the client's own. */
  static Connections ofOwnPool(DataSource pool, int size, TimeSource time) {
    return new Connections(pool, PoolShare.unlimited(), size, time);
  }

  /** {@return whether the data source may have this many connections} */
  boolean mayHave(int connections) {
    return share.mayHave(connections);
  }

  private boolean isOwnPool() {
    return ownPoolSize > 0;
  }

  /**
   * {@return whether the program has closed its data source} A data source that cannot tell counts
   * as open.
   */
  boolean isClosedByProgram() {
    if (share.isClosed()) {
      return true;
    }
    if (isOwnPool()) {
      return false;
    }
    try {
      // Pools have no common interface, but HikariCP, DBCP and Druid have this method.
      return Boolean.TRUE.equals(source.getClass().getMethod("isClosed").invoke(source));
    } catch (ReflectiveOperationException e) {
      return false;
    }
  }

  /** Keeps a connection until the claim is {@linkplain #forget forgotten}. */
  void protect(Claim claim) {
    if (!isOwnPool()) {
      granted.add(claim.id());
    }
  }

  void forget(Claim claim) {
    granted.remove(claim.id());
  }

  /**
   * Returns a connection, which the caller has to {@linkplain #giveBack give back}.
   *
   * @param isHolder whether the request is for a granted claim
   * @throws SQLException if none comes in time, or the data source failed
   */
  Borrowed borrow(Deadline deadline, boolean isHolder) throws SQLException, InterruptedException {
    Waiter waiter;
    lock.lock();
    try {
      Borrowed available = idle.pollLast();
      if (available != null) {
        return available;
      }
      if (closed) {
        throw closed();
      }
      waiter = new Waiter(time.nanoTime(), isHolder);
      waiters.add(waiter);
      try {
        wakeOrStartWorker();
      } catch (Throwable e) {
        waiters.remove(waiter);
        throw e;
      }
    } finally {
      lock.unlock();
    }
    boolean interrupted = false;
    while (!waiter.served && !deadline.hasPassed() && !interrupted) {
      time.parkUntil(this, deadline.nanos());
      interrupted = Thread.interrupted();
    }
    lock.lock();
    try {
      waiters.remove(waiter);
    } finally {
      lock.unlock();
    }
    if (interrupted) {
      if (waiter.connection != null) {
        giveBack(waiter.connection, true);
      }
      throw new InterruptedException();
    }
    if (waiter.connection != null) {
      return waiter.connection;
    }
    throw failure(waiter.problem);
  }

  /**
   * Borrows a connection for a long time, in which it neither serves requests nor counts as kept.
   *
   * @param minRemaining the number of connections that must remain in the pool
   * @return the connection; null if too few would remain
   */
  @Nullable Borrowed borrowLongTerm(int minRemaining, Deadline deadline)
      throws SQLException, InterruptedException {
    if (!share.take(minRemaining)) {
      return null;
    }
    Borrowed borrowed = null;
    try {
      borrowed = borrow(deadline, false);
      lock.lock();
      try {
        stopKeeping(borrowed);
      } finally {
        lock.unlock();
      }
      return borrowed;
    } finally {
      if (borrowed == null) {
        share.giveBack();
      }
    }
  }

  void giveBackLongTerm(Borrowed borrowed, boolean sound) {
    share.giveBack();
    giveBack(borrowed, sound);
  }

  private static SQLException closed() {
    return new SQLException("the lock client is closed", "08003");
  }

  private static SQLException failure(@Nullable Throwable problem) {
    if (problem == null) {
      return new SQLTransientConnectionException("the data source handed out no connection");
    }
    for (Throwable cause = problem; cause != null; cause = cause.getCause()) {
      if (cause instanceof SQLException e) {
        return e;
      }
    }
    if (problem instanceof Error error) {
      throw error;
    }
    return new SourceException(problem);
  }

  /** Work with a connection, which it gives back. */
  interface Work<T> {
    T run() throws InterruptedException;
  }

  /**
   * Runs work that uses a connection on a thread of this class, or directly if the pool is known
   * not to join transactions.
   */
  <T> T use(Borrowed connection, Work<T> work) throws InterruptedException {
    if (isOwnPool() || !share.mayJoinTransactions()) {
      return work.run();
    }
    FutureTask<T> task = new FutureTask<>(work::run);
    try {
      users.execute(task);
    } catch (OutOfMemoryError e) { // there is no thread
      giveBack(connection, false);
      throw e;
    }
    try {
      return Objects.requireNonNull(Uninterruptibles.getUninterruptibly(task));
    } catch (ExecutionException e) {
      Throwable cause = Objects.requireNonNull(e.getCause());
      Throwables.throwIfInstanceOf(cause, InterruptedException.class);
      Throwables.throwIfUnchecked(cause);
      throw new IllegalStateException(cause);
    }
  }

  /**
   * Takes a connection back.
   *
   * @param sound whether the server answered the last request on it, even with an error
   */
  void giveBack(Borrowed connection, boolean sound) {
    Borrowed surplus = connection;
    boolean broken = !sound && connection.isBroken();
    lock.lock();
    try {
      if (!sound || closed) {
        stopKeeping(connection);
      } else if (keep(connection)) {
        surplus = lend(connection);
      }
    } finally {
      lock.unlock();
    }
    if (surplus != null) {
      surplus.close();
    }
    if (broken) {
      returnIdle(true); // the same cause has probably broken these, too
    }
  }

  private void returnIdle(boolean abort) {
    for (Borrowed connection = pollIdle(); connection != null; connection = pollIdle()) {
      if (abort) {
        connection.abort();
      }
      connection.close();
    }
  }

  private @Nullable Borrowed pollIdle() {
    lock.lock();
    try {
      Borrowed longestIdle = idle.poll();
      if (longestIdle != null) {
        stopKeeping(longestIdle);
      }
      return longestIdle;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Lends a connection to the first waiter. Without a waiter, keeps the connection idle and returns
   * null, or returns it if it is not kept.
   */
  private @Nullable Borrowed lend(Borrowed connection) {
    Waiter first = first(time.nanoTime());
    if (first != null) {
      waiters.remove(first);
      serve(first, connection, null);
      return null;
    }
    if (connection.kept) {
      connection.idleSince = time.nanoTime();
      idle.add(connection);
      return null;
    }
    return connection;
  }

  private void serve(Waiter waiter, @Nullable Borrowed connection, @Nullable Throwable problem) {
    waiter.connection = connection;
    waiter.problem = problem;
    waiter.served = true;
    time.unpark(waiter.thread);
  }

  /** Keeps a connection if possible. Returns whether it is kept. */
  private boolean keep(Borrowed connection) {
    if (!connection.kept && (isOwnPool() || (kept == 0 && !granted.isEmpty() && share.take(1)))) {
      connection.kept = true;
      kept++;
    }
    if (connection.kept && workers == hungCalls()) {
      try {
        startWorker();
      } catch (OutOfMemoryError e) { // there is no thread to end the keeping
        stopKeeping(connection);
      }
    }
    return connection.kept;
  }

  private void stopKeeping(Borrowed connection) {
    if (connection.kept) {
      connection.kept = false;
      kept--;
      share.giveBack();
      changed.signal(); // a worker may fetch another one for the waiters
    }
  }

  private boolean isNeeded(Borrowed connection) {
    return !granted.isEmpty() || time.nanoTime() - connection.idleSince < MAX_IDLE_NANOS;
  }

  private boolean isHung(Call call) {
    return time.nanoTime() - call.since > HUNG_CALL_NANOS;
  }

  private int hungCalls() {
    int hung = 0;
    while (hung < calls.size() && isHung(calls.get(hung))) {
      hung++;
    }
    return hung;
  }

  /** {@return the number of connections that have yet to be fetched for the waiters} */
  private long missing() {
    Waiter first = waiters.peek();
    if (first == null) {
      return 0;
    }
    // A call that began before the first waiter came may hang.
    long coming =
        calls.stream().filter(call -> call.since - first.since >= 0 && !isHung(call)).count();
    long missing = waiters.size() - coming;
    return isOwnPool() ? Math.min(missing, ownPoolSize - kept - calls.size()) : missing;
  }

  /**
   * {@return the waiter to serve first among those that have waited since the given time or longer}
   */
  private @Nullable Waiter first(long since) {
    Waiter first = null;
    for (Waiter waiter : waiters) {
      boolean precedes = first == null || (waiter.isHolder && !first.isHolder);
      if (waiter.since - since <= 0 && precedes) {
        first = waiter;
      }
    }
    return first;
  }

  private void wakeOrStartWorker() {
    if (workers - calls.size() >= missing()) {
      changed.signal();
    } else if (mayStartWorker()) {
      startWorker();
    }
  }

  private boolean mayStartWorker() {
    int hung = hungCalls();
    return workers - hung < MAX_WORKERS
        && (hung < MAX_HUNG
            || time.nanoTime() - calls.get(calls.size() - 1).since > HUNG_RETRY_NANOS);
  }

  private void startWorker() {
    threads.newThread(this::work).start();
    workers++;
  }

  /** Fetches connections for waiters, and tests the kept connections while they are needed. */
  private void work() {
    for (Call call = next(null); call != null; call = next(call)) {
      if (call.connection == null) {
        fetch(call);
      } else if (call.connection.kept) {
        giveBack(call.connection, call.connection.test());
      } else {
        call.connection.close();
      }
    }
  }

  /**
   * Ends a call, and waits until another call is needed. Returns null if this thread is not needed
   * any more.
   */
  private @Nullable Call next(@Nullable Call previous) {
    lock.lock();
    try {
      calls.remove(previous);
      boolean unused = false;
      while (workers - hungCalls() <= MAX_WORKERS) {
        Borrowed longestIdle = idle.peek();
        if (missing() > 0) {
          return begin(null);
        } else if (longestIdle != null && !isNeeded(longestIdle)) {
          idle.remove();
          stopKeeping(longestIdle);
          return begin(longestIdle);
        } else if (longestIdle != null
            && time.nanoTime() - longestIdle.idleSince > MAX_UNTESTED_NANOS) {
          idle.remove();
          return begin(longestIdle);
        } else if (closed || (unused && (kept == 0 || workers - calls.size() > 1))) {
          break;
        }
        try {
          unused = changed.awaitNanos(MAX_IDLE_NANOS) <= 0;
        } catch (InterruptedException e) {
          // A late interrupt of the data source.
        }
      }
      workers--;
      return null;
    } finally {
      lock.unlock();
    }
  }

  private Call begin(@Nullable Borrowed connection) {
    Call call = new Call(time.nanoTime(), connection);
    calls.add(call);
    return call;
  }

  private void fetch(Call call) {
    Borrowed fetched = null;
    Throwable problem = null;
    boolean commits = false;
    try {
      fetched = Borrowed.from(source);
      commits = fetched.connection.getAutoCommit();
    } catch (Throwable e) { // a data source in another language may throw any checked exception
      problem = e;
    }
    lock.lock();
    try {
      calls.remove(call);
      if (problem != null) {
        report(problem, call);
      } else if (fetched != null) {
        autoCommit |= commits;
        fetched.commitsAlways = autoCommit;
        fetched.takesWrites = isOwnPool();
        if (!closed) {
          boolean unused = keep(fetched);
          fetched = lend(fetched);
        }
      }
    } finally {
      lock.unlock();
    }
    if (fetched != null) {
      fetched.close();
    }
  }

  /** Reports a failure to a waiter that has waited since before the call of the data source. */
  private void report(Throwable problem, Call call) {
    Waiter first = first(call.since);
    if (first == null) {
      return;
    }
    if (isOwnPool() && problem instanceof SQLTransientConnectionException) {
      first.problem = problem;
    } else {
      waiters.remove(first);
      serve(first, null, problem);
    }
  }

  /** Returns the kept connections. A connection that is lent or being fetched is returned later. */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      changed.signalAll();
      while (!waiters.isEmpty()) {
        serve(waiters.remove(), null, closed());
      }
    } finally {
      lock.unlock();
    }
    returnIdle(false);
  }
}
