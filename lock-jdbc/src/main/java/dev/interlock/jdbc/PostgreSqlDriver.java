package dev.interlock.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.postgresql.PGConnection;
import org.postgresql.PGStatement;

/** Calls PostgreSQL's own driver, which a program may lack. */
final class PostgreSqlDriver {

  private PostgreSqlDriver() {}

  static boolean isPresent() {
    try {
      Class.forName("org.postgresql.PGConnection", false, PostgreSqlDriver.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  /**
   * {@return whether a pooler such as PgBouncer is between the driver and the server} The
   * statements of one connection may then reach different sessions of the server, where the names
   * of the driver's prepared statements are unknown or mean other statements.
   */
  static boolean isBehindPooler(Connection connection) throws SQLException {
    if (!connection.isWrapperFor(PGConnection.class)) {
      return false;
    }
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("SELECT pg_backend_pid()")) {
      row.next();
      return row.getInt(1) != connection.unwrap(PGConnection.class).getBackendPID();
    }
  }

  /**
   * Prepares a statement again for each execution, so that the server keeps no statement by name.
   */
  static void avoidNames(PreparedStatement statement) throws SQLException {
    if (statement.isWrapperFor(PGStatement.class)) {
      statement.unwrap(PGStatement.class).setPrepareThreshold(0);
    }
  }
}
