package dev.interlock.jdbc;

import dev.interlock.Lease;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** The recipes of docs/fencing.md for databases. The page quotes parts of this file literally. */
final class JdbcStock {

  private final JdbcFence fence = JdbcFence.create();

  /** Sells one piece, in two transactions with the work between them. */
  boolean sell(Connection connection, Lease lease) throws SQLException {
    connection.setAutoCommit(false);
    fence.claim(connection, lease); // before the read
    int quantity = read(connection);
    connection.commit();
    if (quantity == 0) {
      return false;
    }
    // … any work, however long
    fence.check(connection, lease); // in the transaction of the write
    write(connection, quantity - 1);
    connection.commit();
    return true;
  }

  static int read(Connection connection) throws SQLException {
    try (PreparedStatement select =
            connection.prepareStatement("SELECT quantity FROM stock WHERE id = 42");
        ResultSet row = select.executeQuery()) {
      row.next();
      return row.getInt(1);
    }
  }

  static void write(Connection connection, int quantity) throws SQLException {
    try (PreparedStatement update =
        connection.prepareStatement("UPDATE stock SET quantity = ? WHERE id = 42")) {
      update.setInt(1, quantity);
      update.executeUpdate();
    }
  }
}
