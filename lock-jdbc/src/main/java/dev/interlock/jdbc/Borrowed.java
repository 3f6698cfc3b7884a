package dev.interlock.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;

/** A connection whose settings are put back when it is returned. */
final class Borrowed implements AutoCloseable {

  /** Auto-commit is off, though it was on before. */
  static final class InTransactionException extends SQLException {
    private static final long serialVersionUID = 1L;

    InTransactionException() {
      super(
          "the data source has handed out a connection without auto-commit, which others had: it is"
              + " probably in a transaction of somebody else; pass a data source that hands out"
              + " each connection to one borrower at a time, and as it was at first",
          "25001");
    }
  }

  private static final int TEST_SECONDS = 5;

  final Connection connection;
  private final int timeoutMillis;

  /** For {@link Connections}, whose lock guards both. */
  boolean kept;

  long idleSince;

  /** Whether it is in somebody's transaction if it has no auto-commit. */
  boolean commitsAlways;

  /** Whether it need not be asked if it is read-only. */
  boolean takesWrites;

  private boolean commits;
  private boolean writes;

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
   * @param answerMillis how long an answer may take
   * @throws InTransactionException if that would commit somebody's transaction
   */
  void prepare(int answerMillis) throws SQLException {
    connection.setNetworkTimeout(Runnable::run, Math.max(1, answerMillis));
    if (!takesWrites && connection.isReadOnly()) { // some drivers ask the server
      connection.setReadOnly(false);
      writes = true;
    }
    takesWrites = true;
    if (!connection.getAutoCommit()) {
      if (commitsAlways) {
        throw new InTransactionException();
      }
      connection.setAutoCommit(true);
      commits = true;
    }
    commitsAlways = true;
  }

  /** Ends the connection, so that the next one may lead to another server: the new primary. */
  void abort() {
    try {
      connection.abort(Runnable::run);
    } catch (SQLException e) {
      // Broken already.
    }
  }

  /** Asks the server. Returns false, and ends the connection, if there is no answer. */
  boolean test() {
    boolean valid = false;
    try {
      valid = connection.isValid(TEST_SECONDS);
    } catch (Throwable e) {
      // As good as no answer.
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
      if (commits) {
        connection.setAutoCommit(false);
      }
      if (writes) {
        connection.setReadOnly(true);
      }
      connection.setNetworkTimeout(Runnable::run, timeoutMillis);
    } catch (Throwable e) {
      // Broken; the pool finds out, too.
    }
  }
}
