package dev.interlock.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;

/** A borrowed connection, whose settings are restored when it is returned. */
final class Borrowed implements AutoCloseable {

  /** Thrown if auto-commit is off although it was on for earlier connections. */
  static final class InTransactionException extends SQLException {
    private static final long serialVersionUID = 1L;

    InTransactionException() {
      super(
          "the data source handed out a connection without auto-commit, although earlier ones had"
              + " it: the connection is probably in another borrower's transaction; pass a data"
              + " source that lends each connection to one borrower at a time, with its original"
              + " settings",
          "25001");
    }
  }

  private static final int TEST_SECONDS = 5;

  final Connection connection;
  private final int timeoutMillis;

  /** Used by {@link Connections}, whose lock guards this and {@link #idleSince}. */
  boolean kept;

  long idleSince;

  /** Whether a missing auto-commit means that the connection is in somebody's transaction. */
  boolean commitsAlways;

  /** Whether the connection is known not to be read-only. */
  boolean takesWrites;

  private boolean autoCommitWasOff;
  private boolean wasReadOnly;

  private Borrowed(Connection connection) throws SQLException {
    this.connection = connection;
    // Proxies that fetch their connection with the first call do so on this thread.
    this.timeoutMillis = connection.getNetworkTimeout();
  }

  static Borrowed from(DataSource source) throws SQLException {
    Connection connection = source.getConnection();
    try {
      return new Borrowed(connection);
    } catch (Throwable e) {
      connection.close();
      throw e;
    }
  }

  /**
   * Makes every statement a transaction of its own.
   *
   * @param answerMillis the time-out of an answer
   * @throws InTransactionException if that would commit somebody's transaction
   */
  void prepare(int answerMillis) throws SQLException {
    connection.setNetworkTimeout(Runnable::run, Math.max(1, answerMillis));
    if (!takesWrites && connection.isReadOnly()) { // some drivers ask the server
      connection.setReadOnly(false);
      wasReadOnly = true;
    }
    takesWrites = true;
    if (!connection.getAutoCommit()) {
      if (commitsAlways) {
        throw new InTransactionException();
      }
      connection.setAutoCommit(true);
      autoCommitWasOff = true;
    }
    commitsAlways = true;
  }

  /**
   * Aborts the connection, so that the next one may lead to another server, such as a new primary.
   */
  void abort() {
    try {
      connection.abort(Runnable::run);
    } catch (SQLException e) {
      // The connection was broken already.
    }
  }

  /** Tests the connection. Returns false, and aborts it, if the server does not answer. */
  boolean test() {
    boolean valid = false;
    try {
      valid = connection.isValid(TEST_SECONDS);
    } catch (Throwable e) {
      // A failed test counts as no answer.
    }
    if (!valid) {
      abort();
    }
    return valid;
  }

  boolean isBroken() {
    try {
      return connection.isClosed();
    } catch (SQLException e) {
      return true;
    }
  }

  @Override
  public void close() {
    try (connection) {
      if (connection.isClosed()) {
        return;
      }
      if (autoCommitWasOff) {
        connection.setAutoCommit(false);
      }
      if (wasReadOnly) {
        connection.setReadOnly(true);
      }
      connection.setNetworkTimeout(Runnable::run, timeoutMillis);
    } catch (Throwable e) {
      // The connection is broken, which the pool will notice.
    }
  }
}
