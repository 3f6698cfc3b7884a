package dev.interlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.interlock.StaleTokenException;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.PostgresServer;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class PostgresqlFenceTest extends FenceCases {

  @AutoClose
  private static final PostgresServer server = Testbed.postgresql().withoutSync().start();

  @Override
  Connection connect() throws SQLException {
    return DriverManager.getConnection(server.jdbcUrl(), server.user(), server.password());
  }

  @Override
  int waiting() throws IOException {
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
    return "PostgreSQL";
  }

  @Test
  void aUserNeedsOnlyTheDocumentedRights() throws Exception {
    JdbcFence fence = JdbcFence.create();
    server.execute("CREATE ROLE app LOGIN PASSWORD 'app'", documented("rights: jdbc", "sql"));
    try (Connection app = DriverManager.getConnection(server.jdbcUrl(), "app", "app")) {
      app.setAutoCommit(false);
      fence.claim(app, "stock/42", 8);
      fence.check(app, "stock/42", 8);
      app.commit();
      assertThrows(StaleTokenException.class, () -> fence.check(app, "stock/42", 7));
    } finally {
      server.execute("DROP OWNED BY app", "DROP ROLE app");
    }
  }

  /** A check writes the row of the fence for the sake of this refusal. */
  @Test
  void aClaimInASnapshotOlderThanTheLastCheckIsRefused() throws Exception {
    JdbcFence fence = JdbcFence.create();
    try (Connection writer = connect();
        Connection successor = connect()) {
      writer.setAutoCommit(false);
      successor.setAutoCommit(false);
      successor.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      fence.claim(writer, "stock/42", 7);
      writer.commit();
      assertEquals(1, JdbcStock.read(successor));
      fence.check(writer, "stock/42", 7);
      JdbcStock.write(writer, 6);
      writer.commit();
      SQLException conflict =
          assertThrows(SQLException.class, () -> fence.claim(successor, "stock/42", 8));
      assertEquals("40001", conflict.getSQLState());
      successor.rollback();
      fence.claim(successor, "stock/42", 8);
      assertEquals(6, JdbcStock.read(successor));
    }
  }
}
