package dev.interlock.jdbc;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.sql.SQLException;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/** Makes requests, and repeats what the database has rolled back because of others. */
final class Requests {

  /** Something to ask, in one or more statements. */
  interface Request<T> {
    T run(Session session) throws SQLException, InterruptedException;
  }

  private static final long SHORTEST_PAUSE_NANOS = 1_000_000;
  private static final long LONGEST_PAUSE_NANOS = 20_000_000;

  private final Connections connections;
  private final JdbcDatabase database;
  private final Failures failures;
  private final TimeSource time;

  /** Whether the server's session may be another one with each statement. */
  private volatile boolean pooled;

  Requests(Connections connections, JdbcDatabase database, Failures failures, TimeSource time) {
    this.connections = connections;
    this.database = database;
    this.failures = failures;
    this.time = time;
  }

  /** {@return whether a pooler is known to be there} */
  boolean isPooled() {
    return pooled;
  }

  /** Finds out whether a pooler is between the driver and the server. */
  void detectPooler(Deadline deadline) throws InterruptedException {
    pooled = repeatable(deadline, new Attempts(), Session::isBehindPooler);
  }

  /** How often a request was sent, and whether an earlier copy may have been executed. */
  static final class Attempts {
    private final boolean isHolder;
    private boolean inDoubt;

    private Attempts(boolean isHolder) {
      this.isHolder = isHolder;
    }

    Attempts() {
      this(false);
    }

    /** {@return those of a request for a claim that is granted, which goes before others} */
    static Attempts ofHolder() {
      return new Attempts(true);
    }

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
      Borrowed borrowed = borrow(deadline, attempts);
      try {
        Optional<T> answer =
            connections.use(borrowed, () -> ask(borrowed, deadline, attempts, request));
        if (answer.isPresent()) {
          return answer.get();
        }
      } catch (BrokenException | InterruptedException | RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /** Uses up a connection. Returns nothing if the request has to be repeated. */
  private <T> Optional<T> ask(
      Borrowed borrowed, Deadline deadline, Attempts attempts, Request<T> request)
      throws InterruptedException, BrokenException {
    prepare(borrowed, deadline, attempts);
    boolean sound = false;
    try {
      T answer = request.run(new Session(borrowed.connection, database, pooled, deadline));
      sound = !borrowed.isBroken(); // a part that may fail can have broken it
      return Optional.of(answer);
    } catch (LockException | InterruptedException e) {
      sound = true;
      throw e;
    } catch (SQLException e) {
      sound = !Failures.isBroken(e) && !borrowed.isBroken();
      if (Failures.isRolledBack(e) && !pauseAndGiveUp(deadline)) {
        return Optional.empty();
      }
      if (Failures.isForeignStatement(e)) {
        pooled = true;
        sound = false;
        borrowed.abort(); // the driver would use the names again that it has given
        if (!pauseAndGiveUp(deadline)) {
          return Optional.empty();
        }
      }
      if (Failures.isBroken(e)) {
        attempts.inDoubt = true;
        throw new BrokenException(e);
      }
      if (Failures.isReadOnly(e)) {
        sound = false;
        borrowed.abort();
      }
      throw failures.explain(e);
    } finally {
      connections.giveBack(borrowed, sound);
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

  private Borrowed borrow(Deadline deadline, Attempts attempts) throws InterruptedException {
    if (deadline.hasPassed()) {
      throw unsent("no time was left for the request", attempts);
    }
    Borrowed borrowed = connect(connections, deadline, failures, attempts);
    if (deadline.hasPassed()) {
      connections.giveBack(borrowed, true);
      throw unsent("no connection in time", attempts);
    }
    return borrowed;
  }

  /** Gives the connection back if that fails. */
  private void prepare(Borrowed borrowed, Deadline deadline, Attempts attempts)
      throws BrokenException {
    boolean prepared = false;
    try {
      borrowed.prepare((int) Math.min(86_400_000, deadline.remaining().toMillis()));
      prepared = true;
    } catch (Borrowed.InTransactionException e) {
      throw unsent(String.valueOf(e.getMessage()), attempts);
    } catch (SQLException e) {
      throw new BrokenException(e);
    } finally {
      if (!prepared) {
        connections.giveBack(borrowed, false);
      }
    }
  }

  /**
   * Borrows a connection.
   *
   * @throws LockException if there is none in time
   */
  static Borrowed connect(
      Connections connections, Deadline deadline, Failures failures, Attempts attempts)
      throws InterruptedException {
    try {
      return connections.borrow(deadline, attempts.isHolder);
    } catch (SQLException e) {
      if (connections.isClosedByProgram()) {
        throw failures.wrong("the DataSource was closed before the LockClient that uses it", e);
      }
      throw attempts.inDoubt ? failures.explain(e) : failures.notSent(e);
    }
  }

  private LockException unsent(String problem, Attempts attempts) {
    return attempts.inDoubt
        ? failures.passing(problem, null)
        : failures.passingUnsent(problem, null);
  }
}
