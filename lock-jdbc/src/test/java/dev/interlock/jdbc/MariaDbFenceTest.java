package dev.interlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.MariaDbServer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class MariaDbFenceTest extends FenceCases {

  @AutoClose private static final MariaDbServer server = Testbed.mariadb().withoutSync().start();

  @Override
  Connection connect() throws SQLException {
    return connect("");
  }

  private static Connection connect(String parameters) throws SQLException {
    return DriverManager.getConnection(
        server.jdbcUrl() + parameters, server.user(), server.password());
  }

  @Override
  int waiting() throws Exception {
    return Backends.waitingTransactions(server);
  }

  @Override
  List<Integer> isolationLevels() {
    return List.of(
        Connection.TRANSACTION_READ_COMMITTED,
        Connection.TRANSACTION_REPEATABLE_READ,
        Connection.TRANSACTION_SERIALIZABLE);
  }

  @Override
  String documentedAs() {
    return "MariaDB";
  }

  /** With {@code useAffectedRows}, the driver reports that a check has changed no row. */
  @Test
  void aDriverThatCountsChangedRowsDoesNotFailTheCheck() throws Exception {
    JdbcFence fence = JdbcFence.create();
    try (Connection connection = connect("?useAffectedRows=true")) {
      connection.setAutoCommit(false);
      fence.claim(connection, "stock/42", 7);
      fence.claim(connection, "stock/42", 7);
      fence.check(connection, "stock/42", 7);
    }
  }

  /** From 11.6.2 on, MariaDB sets {@code innodb_snapshot_isolation} by default. */
  @Test
  void aClaimWorksUnderSnapshotIsolation() throws Exception {
    JdbcFence fence = JdbcFence.create();
    try (Connection writer = connect();
        Connection successor = connect()) {
      writer.setAutoCommit(false);
      try (Statement statement = successor.createStatement()) {
        statement.execute("SET SESSION innodb_snapshot_isolation = ON");
      }
      successor.setAutoCommit(false);
      fence.claim(writer, "stock/42", 7);
      writer.commit();
      fence.check(writer, "stock/42", 7);
      JdbcStock.write(writer, 6);
      writer.commit();
      fence.claim(successor, "stock/42", 8);
      assertEquals(6, JdbcStock.read(successor));
      JdbcStock.write(successor, 5);
      successor.commit();
    }
  }
}
