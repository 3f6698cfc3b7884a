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
 * Lends the connections of a data source to requests, each of which waits until its deadline at
 * most, however long the data source takes. For that, threads of this class fetch the connections.
 * One that arrives too late for its request goes to the next request, or back to the data source.
 *
 * <p>While the client has grants, one connection of a program's data source is kept between
 * requests. A program that uses up its pool can then still renew and release its locks. Those of a
 * pool of the client's own are all kept, for a few seconds.
 *
 * <p>A data source that chooses a connection by the thread, such as that of the caller's
 * transaction or tenant, only meets threads of this class, which have neither. The same goes for
 * its connections, which may join the transaction of the thread that uses them.
 */
final class Connections implements AutoCloseable {

  /** The number of threads whose call of the data source may still return soon. */
  private static final int MAX_WORKERS = 16;

  /**
   * A call that takes longer may never return: the server's packets are lost, or the pool hangs.
   */
  private static final long HUNG_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** With so many hung calls, the next is made only after {@link #HUNG_RETRY_NANOS}. */
  private static final int MAX_HUNG = 48;

  private static final long HUNG_RETRY_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** How long threads, and connections that need not be kept, may be idle. */
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(3);

  /** A firewall may forget a connection that is idle for long. */
  private static final long UNTESTED_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final DataSource source;
  private final PoolShare share;

  /** The size of the client's own pool; 0 for a data source of the program. */
  private final int ownPoolSize;

  private final TimeSource time;
  private final ThreadFactory threads = DaemonThreads.factory("interlock-jdbc-connections");

  /** As many threads as connections are in use. */
  private final Executor users =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          IDLE_NANOS,
          TimeUnit.NANOSECONDS,
          new SynchronousQueue<>(),
          DaemonThreads.factory("interlock-jdbc-requests"));

  private final Set<String> granted = ConcurrentHashMap.newKeySet();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // The lock guards all that follows.

  /** In the order in which they have begun to wait. */
  private final Deque<Waiter> waiters = new ArrayDeque<>();

  /** The calls of the data source that are under way, the oldest first. */
  private final List<Call> calls = new ArrayList<>();

  private final Deque<Borrowed> idle = new ArrayDeque<>();
  private int kept;
  private boolean autoCommit;
  private int workers;
  private boolean closed;

  /** The data source has thrown an exception that is none of SQL. */
  static final class SourceException extends SQLTransientException {
    private static final long serialVersionUID = 1L;

    SourceException(Throwable problem) {
      super(
          "the data source failed on a thread of the lock client, which has no transaction, tenant"
              + " or the like: "
              + problem,
          problem);
    }
  }

  /** A request that waits for a connection. Written under the lock. */
  private static final class Waiter {
    final Thread thread = Thread.currentThread();
    final long since;

    /** Whether it is for a claim that is granted: it is served before the others. */
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

    /** The connection to test if it is kept, or else to return; null to fetch one. */
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

  /** Lends connections of a data source of the program, of which none is fetched yet. */
  static Connections ofProgram(DataSource source, TimeSource time) {
    return new Connections(source, PoolShare.of(source), 0, time);
  }

  /** Lends connections of a pool of the client's own. */
  static Connections ofOwnPool(DataSource pool, int size, TimeSource time) {
    return new Connections(pool, PoolShare.unlimited(), size, time);
  }

  /** {@return whether the data source is not known to have fewer connections} */
  boolean has(int connections) {
    return share.has(connections);
  }

  private boolean isOwnPool() {
    return ownPoolSize > 0;
  }

  /** {@return whether the program has closed its data source} Those that cannot tell are open. */
  boolean isClosedByProgram() {
    if (share.isClosed()) {
      return true;
    }
    if (isOwnPool()) {
      return false;
    }
    try {
      // Pools have no interface in common, but this method in HikariCP, DBCP and Druid.
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
   * @param isHolder whether the request is for a claim that is granted
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
        summonWorker();
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
   * Borrows a connection that is not used for requests meanwhile, and not kept for them.
   *
   * @param rest how many connections have to be left
   * @return null if too few would be left
   */
  @Nullable Borrowed borrowForLong(int rest, Deadline deadline)
      throws SQLException, InterruptedException {
    if (!share.take(rest)) {
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

  void giveBackAfterLong(Borrowed borrowed, boolean sound) {
    share.giveBack();
    giveBack(borrowed, sound);
  }

  private static SQLException closed() {
    return new SQLException("the lock client is closed", "08003");
  }

  private static SQLException failure(@Nullable Throwable problem) {
    if (problem == null) {
      return new SQLTransientConnectionException("the data source handed out none");
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

  /** Something to do with a connection, which it gives back. */
  interface Work<T> {
    T run() throws InterruptedException;
  }

  /**
   * Runs work that uses a connection. It runs on a thread of this class, unless the pool is known
   * not to join transactions.
   */
  <T> T use(Borrowed connection, Work<T> work) throws InterruptedException {
    if (isOwnPool() || !share.mayJoinTransactions()) {
      return work.run();
    }
    FutureTask<T> task = new FutureTask<>(work::run);
    try {
      users.execute(task);
    } catch (OutOfMemoryError e) { // no thread could be had
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
   * @param sound whether the server answered the last request on it, be it by an error
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
      returnIdle(true); // what broke it has probably broken these, too
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
      Borrowed longest = idle.poll();
      if (longest != null) {
        stopKeeping(longest);
      }
      return longest;
    } finally {
      lock.unlock();
    }
  }

  /** Lends a connection to the first waiter. Returns it if there is none, unless it is kept. */
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

  /** Keeps a connection if that is possible. Returns whether it is kept. */
  private boolean keep(Borrowed connection) {
    if (!connection.kept && (isOwnPool() || (kept == 0 && !granted.isEmpty() && share.take(1)))) {
      connection.kept = true;
      kept++;
    }
    if (connection.kept && workers == hungCalls()) {
      try {
        startWorker();
      } catch (OutOfMemoryError e) { // no thread could be had to end the keeping
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
      changed.signal(); // a worker may fetch another one for those who wait
    }
  }

  private boolean isNeeded(Borrowed connection) {
    return !granted.isEmpty() || time.nanoTime() - connection.idleSince < IDLE_NANOS;
  }

  private boolean isHung(Call call) {
    return time.nanoTime() - call.since > HUNG_NANOS;
  }

  private int hungCalls() {
    int hung = 0;
    while (hung < calls.size() && isHung(calls.get(hung))) {
      hung++;
    }
    return hung;
  }

  /** {@return how many connections have still to be fetched for those who wait} */
  private long missing() {
    Waiter first = waiters.peek();
    if (first == null) {
      return 0;
    }
    // A call that began earlier may hang.
    long coming =
        calls.stream().filter(call -> call.since - first.since >= 0 && !isHung(call)).count();
    long missing = waiters.size() - coming;
    return isOwnPool() ? Math.min(missing, ownPoolSize - kept - calls.size()) : missing;
  }

  /** {@return whom to serve first of those who have waited since a time or before} */
  private @Nullable Waiter first(long since) {
    Waiter first = null;
    for (Waiter waiter : waiters) {
      boolean goesBefore = first == null || (waiter.isHolder && !first.isHolder);
      if (waiter.since - since <= 0 && goesBefore) {
        first = waiter;
      }
    }
    return first;
  }

  private void summonWorker() {
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

  /** Fetches connections for waiters, and tests the kept one until it is not needed any more. */
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

  /** Ends a call, and waits until the next one is needed, or this thread is not: then null. */
  private @Nullable Call next(@Nullable Call previous) {
    lock.lock();
    try {
      calls.remove(previous);
      boolean unused = false;
      while (workers - hungCalls() <= MAX_WORKERS) {
        Borrowed longest = idle.peek();
        if (missing() > 0) {
          return begin(null);
        } else if (longest != null && !isNeeded(longest)) {
          idle.remove();
          stopKeeping(longest);
          return begin(longest);
        } else if (longest != null && time.nanoTime() - longest.idleSince > UNTESTED_NANOS) {
          idle.remove();
          return begin(longest);
        } else if (closed || (unused && (kept == 0 || workers - calls.size() > 1))) {
          break;
        }
        try {
          unused = changed.awaitNanos(IDLE_NANOS) <= 0;
        } catch (InterruptedException e) {
          // It is the data source's, and was late.
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
    } catch (Throwable e) { // also a checked one, which a data source in another language may throw
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

  /** Reports a failure to somebody who has waited since before the data source was asked. */
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

  /** Returns what is kept. A connection that is lent, or being fetched, is returned later. */
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
