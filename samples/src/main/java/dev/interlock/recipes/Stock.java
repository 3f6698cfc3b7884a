package dev.interlock.recipes;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import javax.sql.DataSource;

/** Pieces of an article, in a table {@code stock (id, quantity, fence)}. */
final class Stock {
  private final DataSource database;
  private final LockClient locks;

  Stock(DataSource database, LockClient locks) {
    this.database = database;
    this.locks = locks;
  }

  /** The decision between reading and writing. */
  @FunctionalInterface
  interface Decision {
    boolean sell(int inStock) throws Exception;
  }

  /** A rule that fits into one statement needs no lock. */
  boolean sellOne(int id) throws SQLException {
    try (Connection connection = database.getConnection()) {
      return update(
          connection, "UPDATE stock SET quantity = quantity - 1 WHERE id = ? AND quantity > 0", id);
    }
  }

  /** Oversells if the process pauses between reading and writing, and loses the lock meanwhile. */
  boolean sellWithoutToken(int id, Decision decision) throws Exception {
    DistributedLock lock = locks.lock("stock/" + id);
    try (Lease lease = lock.acquire();
        Connection connection = database.getConnection()) {
      int inStock = quantity(connection, id);
      if (inStock == 0 || !decision.sell(inStock)) {
        return false;
      }
      return update(connection, "UPDATE stock SET quantity = ? WHERE id = ?", inStock - 1, id);
    }
  }

  /** Never oversells: the database refuses a write that comes too late. */
  boolean sell(int id, Decision decision) throws Exception {
    DistributedLock lock = locks.lock("stock/" + id);
    try (Lease lease = lock.acquire();
        Connection connection = database.getConnection()) {
      long token = lease.fencingToken();
      if (!update(
          connection, "UPDATE stock SET fence = ? WHERE id = ? AND fence <= ?", token, id, token)) {
        throw new IllegalStateException("a later holder has taken over article " + id);
      }
      int inStock = quantity(connection, id);
      if (inStock == 0 || !decision.sell(inStock)) {
        return false;
      }
      if (!update(
          connection,
          "UPDATE stock SET quantity = ? WHERE id = ? AND fence = ?",
          inStock - 1,
          id,
          token)) {
        throw new IllegalStateException("a later holder has taken over article " + id);
      }
      return true;
    }
  }

  private static int quantity(Connection connection, int id) throws SQLException {
    try (PreparedStatement select =
        connection.prepareStatement("SELECT quantity FROM stock WHERE id = ?")) {
      select.setInt(1, id);
      try (ResultSet row = select.executeQuery()) {
        return row.next() ? row.getInt(1) : 0;
      }
    }
  }

  private static boolean update(Connection connection, String sql, Object... values)
      throws SQLException {
    try (PreparedStatement update = connection.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) {
        update.setObject(i + 1, values[i]);
      }
      return update.executeUpdate() == 1;
    }
  }
}
