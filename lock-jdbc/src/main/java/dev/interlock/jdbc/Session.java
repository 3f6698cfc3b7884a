package dev.interlock.jdbc;

import dev.interlock.spi.Deadline;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;

/** A borrowed connection on which every statement is a transaction, and ends with the request. */
final class Session {

  /** What a result is made of. */
  interface Reader<T> {
    T read(ResultSet rows) throws SQLException;
  }

  private final Connection connection;
  private final Dialect dialect;
  private final boolean pooled;
  private final Deadline deadline;
  private boolean used;

  /**
   * Uses a connection.
   *
   * @param pooled whether the server's session may be another one with each statement
   */
  Session(Connection connection, Dialect dialect, boolean pooled, Deadline deadline) {
    this.connection = connection;
    this.dialect = dialect;
    this.pooled = pooled;
    this.deadline = deadline;
  }

  /** {@return how many rows the statement has changed} */
  int update(Sql sql, Map<String, ?> values) throws SQLException {
    limitAnswer();
    try (PreparedStatement statement = connection.prepareStatement(bounded(sql))) {
      bind(statement, sql, values);
      return statement.executeUpdate();
    }
  }

  <T> T query(Sql sql, Map<String, ?> values, Reader<T> reader) throws SQLException {
    limitAnswer();
    try (PreparedStatement statement = connection.prepareStatement(bounded(sql))) {
      bind(statement, sql, values);
      try (ResultSet rows = statement.executeQuery()) {
        return reader.read(rows);
      }
    }
  }

  /** {@return the fence of the row that the statement has written, or empty if it wrote none} */
  OptionalLong updateReturningFence(Sql sql, Map<String, ?> values) throws SQLException {
    limitAnswer();
    try (PreparedStatement statement =
        dialect.isMaria()
            ? connection.prepareStatement(bounded(sql), Statement.RETURN_GENERATED_KEYS)
            : connection.prepareStatement(bounded(sql), new String[] {"FENCE"})) {
      bind(statement, sql, values);
      if (statement.executeUpdate() == 0) {
        return OptionalLong.empty();
      }
      try (ResultSet keys = statement.getGeneratedKeys()) {
        keys.next();
        return OptionalLong.of(keys.getLong(1));
      }
    }
  }

  /** {@return whether a pooler is between the driver and the server} */
  boolean isBehindPooler() throws SQLException {
    return dialect == Dialect.POSTGRESQL
        && PostgreSqlDriver.isPresent()
        && PostgreSqlDriver.isBehindPooler(connection);
  }

  /** Executes definitions, which have no parameters. */
  void define(String definitions) throws SQLException {
    limitAnswer();
    try (Statement statement = connection.createStatement()) {
      boolean unused = statement.execute(definitions);
    }
  }

  /** The first statement may take all the time for which the connection was prepared. */
  private void limitAnswer() throws SQLException {
    if (used) {
      int left = (int) Math.min(86_400_000, deadline.remaining().toMillis());
      if (left == 0) {
        throw new SQLTimeoutException("the statements before took all the time");
      }
      connection.setNetworkTimeout(Runnable::run, left);
    }
    used = true;
  }

  /**
   * The server itself gives up, too: a client that does so alone leaves a waiting request there.
   */
  private String bounded(Sql sql) {
    return dialect == Dialect.MARIADB
        ? String.format(
            Locale.ROOT,
            "SET STATEMENT max_statement_time=%.3f FOR %s",
            millisOnServer() / 1e3,
            sql.text())
        : sql.text();
  }

  private void bind(PreparedStatement statement, Sql sql, Map<String, ?> values)
      throws SQLException {
    if (dialect == Dialect.MYSQL) {
      statement.setQueryTimeout((int) Math.min(86_400, Math.max(1, millisOnServer() / 1_000)));
    }
    if (pooled) {
      PostgreSqlDriver.avoidNames(statement);
    }
    if (dialect == Dialect.POSTGRESQL) {
      Map<String, Object> all = new HashMap<>(values);
      all.put("lockTimeout", millisOnServer() + "ms");
      sql.bind(statement, all);
    } else {
      sql.bind(statement, values);
    }
  }

  /** A little less than what is left, so that the server's answer comes in time. */
  private long millisOnServer() {
    long left = Math.min(86_400_000, deadline.remaining().toMillis());
    return Math.max(1, left - Math.min(50, left / 4));
  }
}
