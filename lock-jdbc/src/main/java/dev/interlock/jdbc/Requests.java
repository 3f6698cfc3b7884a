package dev.interlock.jdbc;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.sql.SQLException;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Makes requests, and repeats those that the database rolled back because of other transactions.
 */
final class Requests {

  /** A request of one or more statements. */
  interface Request<T> {
    T run(Session session) throws SQLException, InterruptedException;
  }

  private static final long MIN_PAUSE_NANOS = 1_000_000;
  private static final long MAX_PAUSE_NANOS = 20_000_000;

  private final Connections connections;
  private final JdbcDatabase database;
  private final Failures failures;
  private final TimeSource time;

  /** Whether each statement may reach another session of the server. */
  private volatile boolean pooled;

  Requests(Connections connections, JdbcDatabase database, Failures failures, TimeSource time) {
    this.connections = connections;
    this.database = database;
    this.failures = failures;
    this.time = time;
  }

  /** {@return whether a pooler was detected} */
  boolean isPooled() {
    return pooled;
  }

  /** Detects whether a pooler is between the driver and the server. */
  void detectPooler(Deadline deadline) throws InterruptedException {
    pooled = repeatable(deadline, new Attempts(), Session::isBehindPooler);
  }

  /**
   * The state of a request over its attempts: whether it is a holder's, and whether an earlier
   * attempt may have been executed.
   */
  static final class Attempts {
    private final boolean isHolder;
    private boolean inDoubt;

    private Attempts(boolean isHolder) {
      this.isHolder = isHolder;
    }

    Attempts() {
      this(false);
    }

    /** {@return the attempts of a request for a granted claim, which is served before others} */
    static Attempts ofHolder() {
      return new Attempts(true);
    }

    boolean isInDoubt() {
      return inDoubt;
    }
  }

  /** A failure after which the request may be repeated if there is time. */
  private static final class RepeatableException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    final transient LockException failure;

    RepeatableException(LockException failure) {
      super(failure);
      this.failure = failure;
    }
  }

  /**
   * Makes a request that may be repeated if the connection breaks.
   *
   * @throws LockException if the deadline passed, or the database refused the request
   */
  <T> T repeatable(Deadline deadline, Attempts attempts, Request<T> request)
      throws InterruptedException {
    return ask(deadline, attempts, true, request);
  }

  /**
   * Makes a request that must not be executed twice.
   *
   * @throws LockException if the deadline passed, or the database refused the request
   */
  <T> T single(Deadline deadline, Request<T> request) throws InterruptedException {
    return ask(deadline, new Attempts(), false, request);
  }

  private <T> T ask(Deadline deadline, Attempts attempts, boolean repeatable, Request<T> request)
      throws InterruptedException {
    while (true) {
      try {
        Borrowed borrowed = borrow(deadline, attempts);
        return connections.use(
            borrowed, () -> run(borrowed, deadline, attempts, repeatable, request));
      } catch (RepeatableException e) {
        if (!pauseIfTimeIsLeft(deadline)) {
          throw e.failure;
        }
      } catch (LockConfigurationException e) {
        // Even if the login is refused, an earlier attempt may have been executed.
        throw attempts.inDoubt ? failures.afterDoubt(e) : e;
      }
    }
  }

  /** Runs a request on a connection, and gives the connection back. */
  private <T> T run(
      Borrowed borrowed,
      Deadline deadline,
      Attempts attempts,
      boolean repeatable,
      Request<T> request)
      throws InterruptedException {
    boolean prepared = false;
    boolean sound = false;
    try {
      borrowed.prepare((int) Math.min(86_400_000, deadline.remaining().toMillis()));
      prepared = true;
      T answer = request.run(new Session(borrowed.connection, database, pooled, deadline));
      sound = !borrowed.isBroken(); // a failure that the request ignored may have broken it
      return answer;
    } catch (LockException | InterruptedException e) {
      sound = true;
      throw e;
    } catch (Borrowed.InTransactionException e) {
      throw failure(String.valueOf(e.getMessage()), null, attempts);
    } catch (SQLException e) {
      if (!prepared) {
        throw new RepeatableException(broken(e, attempts));
      }
      boolean broken = SqlFailure.isBroken(e);
      sound = !broken && !borrowed.isBroken();
      if (SqlFailure.ROLLED_BACK.isCauseOf(e)) {
        throw new RepeatableException(failures.explain(e));
      }
      if (SqlFailure.FOREIGN_STATEMENT.isCauseOf(e)) {
        pooled = true;
        sound = false;
        borrowed.abort(); // the driver would reuse the names of its prepared statements
        throw new RepeatableException(failures.explain(e));
      }
      if (broken) {
        attempts.inDoubt = true;
        LockException failure = broken(e, attempts);
        throw repeatable ? new RepeatableException(failure) : failure;
      }
      if (SqlFailure.READ_ONLY.isCauseOf(e)) {
        sound = false;
        borrowed.abort();
      }
      throw failures.explain(e);
    } finally {
      connections.giveBack(borrowed, sound);
    }
  }

  /**
   * Pauses so that other clients, which have changed the row meanwhile, can finish.
   *
   * @throws LockException if no time is left for the pause
   */
  void pause(Deadline deadline) throws InterruptedException {
    if (!pauseIfTimeIsLeft(deadline)) {
      throw failures.temporary(
          "other clients changed the row each time before this one could", null);
    }
  }

  private boolean pauseIfTimeIsLeft(Deadline deadline) throws InterruptedException {
    long pause = ThreadLocalRandom.current().nextLong(MIN_PAUSE_NANOS, MAX_PAUSE_NANOS);
    if (deadline.remainingNanos() <= pause) {
      return false;
    }
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    time.parkUntil(this, time.nanoTime() + pause);
    return true;
  }

  private Borrowed borrow(Deadline deadline, Attempts attempts) throws InterruptedException {
    if (deadline.hasPassed()) {
      throw failure("the deadline passed before the request was sent", null, attempts);
    }
    Borrowed borrowed = connect(connections, deadline, failures, attempts);
    if (deadline.hasPassed()) {
      connections.giveBack(borrowed, true);
      throw failure("no connection in time", null, attempts);
    }
    return borrowed;
  }

  /**
   * Borrows a connection.
   *
   * @throws LockException if none is available in time
   */
  static Borrowed connect(
      Connections connections, Deadline deadline, Failures failures, Attempts attempts)
      throws InterruptedException {
    try {
      return connections.borrow(deadline, attempts.isHolder);
    } catch (SQLException e) {
      if (connections.isClosedByProgram()) {
        throw failures.misconfigured(
            "the DataSource was closed before the LockClient that uses it", e);
      }
      throw attempts.inDoubt ? failures.explain(e) : failures.notSent(e);
    }
  }

  private LockException broken(SQLException e, Attempts attempts) {
    return failure("the connection broke: " + Failures.message(e), e, attempts);
  }

  private LockException failure(String problem, @Nullable SQLException cause, Attempts attempts) {
    return attempts.inDoubt
        ? failures.temporary(problem, cause)
        : failures.temporaryNotSent(problem, cause);
  }
}
