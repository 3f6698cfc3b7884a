package dev.interlock.jdbc;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.concurrent.ThreadLocalRandom;
import javax.sql.DataSource;

/**
 * Borrows a connection for each request, for as long as that takes: never while a lock is waited
 * for or held. Repeats what the database has rolled back because of others.
 */
final class Requests {

  /** Something to ask, in one or more statements. */
  interface Request<T> {
    T run(Session session) throws SQLException, InterruptedException;
  }

  private static final long SHORTEST_PAUSE_NANOS = 1_000_000;
  private static final long LONGEST_PAUSE_NANOS = 20_000_000;

  private final DataSource source;
  private final boolean givesUpEarly;
  private final Dialect dialect;
  private final Failures failures;
  private final TimeSource time;

  /**
   * Asks a database.
   *
   * @param source where each request borrows a connection
   * @param givesUpEarly whether the source gives up earlier than a request, and is asked again then
   */
  Requests(
      DataSource source,
      boolean givesUpEarly,
      Dialect dialect,
      Failures failures,
      TimeSource time) {
    this.source = source;
    this.givesUpEarly = givesUpEarly;
    this.dialect = dialect;
    this.failures = failures;
    this.time = time;
  }

  /** How often a request was sent, and whether an earlier copy may have been executed. */
  static final class Attempts {
    private boolean inDoubt;

    boolean isInDoubt() {
      return inDoubt;
    }
  }

  /**
   * Makes a request that may be sent again if the connection broke.
   *
   * @throws LockException if the deadline passed, or the database refused the request
   */
  <T> T repeatable(Deadline deadline, Attempts attempts, Request<T> request)
      throws InterruptedException {
    while (true) {
      try {
        return once(deadline, attempts, request);
      } catch (BrokenException e) {
        if (pauseAndGiveUp(deadline)) {
          throw broken(e, attempts);
        }
      } catch (LockConfigurationException e) {
        // Whatever refuses the copy, even the login: the first may have been executed.
        throw attempts.inDoubt ? failures.afterDoubt(e) : e;
      }
    }
  }

  /**
   * Makes a request that must not be executed twice.
   *
   * @throws LockException if the deadline passed, or the database refused the request
   */
  <T> T single(Deadline deadline, Request<T> request) throws InterruptedException {
    Attempts attempts = new Attempts();
    try {
      return once(deadline, attempts, request);
    } catch (BrokenException e) {
      throw broken(e, attempts);
    }
  }

  private LockException broken(BrokenException e, Attempts attempts) {
    String problem = "the connection broke: " + Failures.message(e.problem);
    return attempts.inDoubt
        ? failures.passing(problem, e.problem)
        : failures.passingUnsent(problem, e.problem);
  }

  /** The connection broke before the answer came. */
  private static final class BrokenException extends Exception {
    private static final long serialVersionUID = 1L;
    final transient SQLException problem;

    BrokenException(SQLException problem) {
      super(problem);
      this.problem = problem;
    }
  }

  private <T> T once(Deadline deadline, Attempts attempts, Request<T> request)
      throws InterruptedException, BrokenException {
    while (true) {
      try (Borrowed borrowed = borrow(deadline, attempts)) {
        try {
          return request.run(new Session(borrowed.connection, dialect, deadline));
        } catch (SQLException e) {
          if (Failures.isRolledBack(e) && !pauseAndGiveUp(deadline)) {
            continue;
          }
          if (Failures.isBroken(e)) {
            attempts.inDoubt = true;
            throw new BrokenException(e);
          }
          if (Failures.isReadOnly(e)) {
            borrowed.abort();
          }
          throw failures.explain(e);
        }
      }
    }
  }

  /**
   * Lets others finish that have changed the row meanwhile.
   *
   * @throws LockException if no time is left for that
   */
  void pause(Deadline deadline) throws InterruptedException {
    if (pauseAndGiveUp(deadline)) {
      throw failures.passing("other clients changed the row each time before this one could", null);
    }
  }

  private boolean pauseAndGiveUp(Deadline deadline) throws InterruptedException {
    long pause = ThreadLocalRandom.current().nextLong(SHORTEST_PAUSE_NANOS, LONGEST_PAUSE_NANOS);
    if (deadline.remainingNanos() <= pause) {
      return true;
    }
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    time.parkUntil(this, time.nanoTime() + pause);
    return false;
  }

  private Borrowed borrow(Deadline deadline, Attempts attempts)
      throws InterruptedException, BrokenException {
    if (deadline.hasPassed()) {
      throw unsent("no time was left for the request", attempts);
    }
    Connection connection = connect(deadline, attempts);
    Borrowed borrowed = new Borrowed(connection);
    if (deadline.hasPassed()) {
      borrowed.close();
      throw unsent("no connection in time", attempts);
    }
    try {
      borrowed.prepare((int) Math.min(86_400_000, deadline.remaining().toMillis()));
    } catch (SQLException e) {
      borrowed.close();
      throw new BrokenException(e);
    }
    return borrowed;
  }

  private Connection connect(Deadline deadline, Attempts attempts) throws InterruptedException {
    while (true) {
      try {
        return source.getConnection();
      } catch (SQLException e) {
        if (Failures.isInterrupted(e)) {
          Thread.interrupted();
          InterruptedException interrupted = new InterruptedException();
          interrupted.initCause(e);
          throw interrupted;
        }
        LockException explained = failures.explain(e);
        boolean unavailable = explained instanceof LockUnavailableException;
        if (givesUpEarly
            && unavailable
            && e instanceof SQLTransientConnectionException
            && !pauseAndGiveUp(deadline)) {
          continue;
        }
        throw unavailable && !attempts.inDoubt ? failures.notSent(e) : explained;
      }
    }
  }

  private LockException unsent(String problem, Attempts attempts) {
    return attempts.inDoubt
        ? failures.passing(problem, null)
        : failures.passingUnsent(problem, null);
  }
}
