package dev.interlock.jdbc;

import java.sql.Connection;
import java.sql.SQLException;

/** A connection whose settings are put back when it is returned. */
final class Borrowed implements AutoCloseable {
  final Connection connection;
  private boolean commits;
  private boolean writes;
  private int timeoutMillis = -1;

  Borrowed(Connection connection) {
    this.connection = connection;
  }

  /**
   * Makes every statement a transaction of its own.
   *
   * @param answerMillis how long an answer may take
   */
  void prepare(int answerMillis) throws SQLException {
    int before = connection.getNetworkTimeout();
    connection.setNetworkTimeout(Runnable::run, Math.max(1, answerMillis));
    timeoutMillis = before;
    if (connection.isReadOnly()) {
      connection.setReadOnly(false);
      writes = true;
    }
    if (!connection.getAutoCommit()) {
      connection.setAutoCommit(true);
      commits = true;
    }
  }

  /** Ends the connection, so that the next one may lead to another server: the new primary. */
  void abort() {
    try {
      connection.abort(Runnable::run);
    } catch (SQLException e) {
      // Broken already.
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
      if (timeoutMillis >= 0) {
        connection.setNetworkTimeout(Runnable::run, timeoutMillis);
      }
    } catch (SQLException e) {
      // Broken; the pool finds out, too.
    }
  }
}
