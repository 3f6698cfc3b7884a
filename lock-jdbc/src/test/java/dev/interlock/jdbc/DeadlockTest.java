package dev.interlock.jdbc;

import static dev.interlock.jdbc.Backends.claim;
import static dev.interlock.jdbc.Backends.soon;
import static dev.interlock.jdbc.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.DatabaseServer;
import dev.interlock.testbed.database.MariaDbServer;
import dev.interlock.testbed.database.PostgresServer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A renewal of several rows competes with a transaction that locks them in the opposite order. */
class DeadlockTest {

  private final ExecutorService thread = Executors.newSingleThreadExecutor();

  @AfterEach
  void end() {
    thread.shutdownNow();
  }

  @Test
  void aRenewalSurvivesADeadlockOnPostgreSql() throws Exception {
    try (PostgresServer server = Testbed.postgresql().withoutSync().start()) {
      renewsInADeadlock(server, () -> Backends.waitingTransactions(server));
    }
  }

  @Test
  void aRenewalSurvivesADeadlockOnMariaDb() throws Exception {
    try (MariaDbServer server = Testbed.mariadb().withoutSync().start()) {
      renewsInADeadlock(server, () -> Backends.waitingTransactions(server));
    }
  }

  private void renewsInADeadlock(DatabaseServer server, Callable<Integer> waiting)
      throws Exception {
    try (LockBackend backend = Backends.open(server.uri());
        Connection other =
            DriverManager.getConnection(server.jdbcUrl(), server.user(), server.password())) {
      List<Grant> grants = List.of(take(backend, claim("a")), take(backend, claim("b")));
      other.setAutoCommit(false);
      lock(other, "62");
      Future<List<Renewal>> renewals = thread.submit(() -> backend.renewAll(grants, soon()));
      Eventually.holds("the renewal waits for the row", () -> waiting.call() > 0);
      try {
        lock(other, "61");
      } catch (SQLException e) {
        assertTrue(SqlFailure.ROLLED_BACK.isCauseOf(e), e::toString);
      }
      other.rollback();
      List<Renewal> outcomes = renewals.get(Backends.TIMEOUT.toSeconds(), TimeUnit.SECONDS);
      assertEquals(2, outcomes.size());
      outcomes.forEach(outcome -> assertInstanceOf(Renewal.Confirmed.class, outcome));
    }
  }

  private static void lock(Connection connection, String hex) throws SQLException {
    String product = connection.getMetaData().getDatabaseProductName();
    String name = product.equals("PostgreSQL") ? "decode('" + hex + "', 'hex')" : "x'" + hex + "'";
    try (Statement statement = connection.createStatement()) {
      statement.executeUpdate("UPDATE interlock_lock SET awaited = awaited WHERE name = " + name);
    }
  }
}
