package dev.interlock.jdbc;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.spi.Deadline;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;

/**
 * The use of a borrowed connection for one request. Every statement is a transaction of its own.
 */
final class Session {

  interface Reader<T> {
    T read(ResultSet rows) throws SQLException;
  }

  private interface Execution<T> {
    T run(PreparedStatement statement) throws SQLException;
  }

  private final Connection connection;
  private final JdbcDatabase database;
  private final boolean pooled;
  private final Deadline deadline;
  private boolean used;

  /**
   * Creates a session.
   *
   * @param pooled whether each statement may reach another session of the server
   */
  Session(Connection connection, JdbcDatabase database, boolean pooled, Deadline deadline) {
    this.connection = connection;
    this.database = database;
    this.pooled = pooled;
    this.deadline = deadline;
  }

  /** {@return the number of rows that the statement has changed} */
  int update(Sql sql, Map<String, ?> values) throws SQLException {
    return execute(sql, values, PreparedStatement::executeUpdate);
  }

  /** {@return whether the statement has changed exactly one row, or returns a changed row} */
  boolean isWritten(Sql sql, Map<String, ?> values) throws SQLException {
    return execute(
        sql,
        values,
        statement -> {
          if (!statement.execute()) {
            return statement.getUpdateCount() == 1;
          }
          try (ResultSet rows = statement.getResultSet()) {
            return rows.next();
          }
        });
  }

  @CanIgnoreReturnValue
  <T> T query(Sql sql, Map<String, ?> values, Reader<T> reader) throws SQLException {
    return execute(
        sql,
        values,
        statement -> {
          try (ResultSet rows = statement.executeQuery()) {
            return reader.read(rows);
          }
        });
  }

  /** {@return the values that the reader returns for the rows} */
  <T> List<T> list(Sql sql, Map<String, ?> values, Reader<T> reader) throws SQLException {
    return query(
        sql,
        values,
        rows -> {
          List<T> all = new ArrayList<>();
          while (rows.next()) {
            all.add(reader.read(rows));
          }
          return all;
        });
  }

  /** {@return the fence of the row that the statement has written; empty if it wrote none} */
  OptionalLong updateReturningFence(Sql sql, Map<String, ?> values) throws SQLException {
    return execute(
        sql,
        values,
        statement -> {
          if (statement.executeUpdate() == 0) {
            return OptionalLong.empty();
          }
          try (ResultSet keys = statement.getGeneratedKeys()) {
            keys.next();
            return OptionalLong.of(keys.getLong(1));
          }
        },
        "FENCE");
  }

  /**
   * Executes a statement.
   *
   * @param keys the columns that the statement returns as generated keys
   */
  private <T> T execute(Sql sql, Map<String, ?> values, Execution<T> execution, String... keys)
      throws SQLException {
    limitAnswer();
    String text = bounded(sql.text(values));
    try (PreparedStatement statement =
        keys.length == 0
            ? connection.prepareStatement(text)
            : database.isMaria()
                ? connection.prepareStatement(text, Statement.RETURN_GENERATED_KEYS)
                : connection.prepareStatement(text, keys)) {
      if (database == JdbcDatabase.MYSQL) {
        statement.setQueryTimeout((int) Math.min(86_400, Math.max(1, millisOnServer() / 1_000)));
      }
      if (pooled) {
        PostgreSqlDriver.avoidNames(statement);
      }
      Map<String, Object> all = new HashMap<>(values);
      all.put("lockTimeout", millisOnServer() + "ms");
      sql.bind(statement, all);
      return execution.run(statement);
    }
  }

  /** {@return whether a pooler is between the driver and the server} */
  boolean isBehindPooler() throws SQLException {
    return database == JdbcDatabase.POSTGRESQL
        && PostgreSqlDriver.isPresent()
        && PostgreSqlDriver.isBehindPooler(connection);
  }

  /** Executes data definitions, which have no parameters. */
  void define(String definitions) throws SQLException {
    limitAnswer();
    try (Statement statement = connection.createStatement()) {
      boolean unused = statement.execute(definitions);
    }
  }

  /**
   * Sets the time-out of an answer to the remaining time. The connection has it set for the first
   * statement.
   */
  private void limitAnswer() throws SQLException {
    if (used) {
      int remaining = (int) Math.min(86_400_000, deadline.remaining().toMillis());
      if (remaining == 0) {
        throw new SQLTimeoutException("the earlier statements of the request took all its time");
      }
      connection.setNetworkTimeout(Runnable::run, remaining);
    }
    used = true;
  }

  /**
   * Lets MariaDB end the statement in time as well. Otherwise, after a time-out of the client, it
   * would keep waiting on the server.
   */
  private String bounded(String sql) {
    return database == JdbcDatabase.MARIADB
        ? String.format(
            Locale.ROOT,
            "SET STATEMENT max_statement_time=%.3f FOR %s",
            millisOnServer() / 1e3,
            sql)
        : sql;
  }

  /**
   * The time-out on the server, which is somewhat less than the remaining time, so that the
   * server's answer comes in time.
   */
  private long millisOnServer() {
    long remaining = Math.min(86_400_000, deadline.remaining().toMillis());
    return Math.max(1, remaining - Math.min(50, remaining / 4));
  }
}
