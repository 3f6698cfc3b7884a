package dev.interlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class H2FenceTest extends FenceCases {

  @Override
  Connection connect() throws SQLException {
    return DriverManager.getConnection("jdbc:h2:mem:fence;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000");
  }

  @Override
  int waiting() throws SQLException {
    try (Connection observer = connect()) {
      return number(
          observer,
          "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SESSIONS WHERE BLOCKER_ID IS NOT NULL");
    }
  }

  @Override
  List<Integer> isolationLevels() {
    return List.of(Connection.TRANSACTION_READ_COMMITTED);
  }

  @Override
  String documentedAs() {
    return "H2";
  }

  /** MERGE does not see the row with which its insert collides, however often it is repeated. */
  @Test
  @Timeout(60)
  void aFenceThatIsNewerThanTheSnapshotFailsTheClaim() throws SQLException {
    JdbcFence fence = JdbcFence.create();
    try (Connection early = connect();
        Connection late = connect()) {
      early.setAutoCommit(false);
      early.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      number(early, "SELECT COUNT(*) FROM interlock_fence");
      fence.claim(late, "stock/42", 7);
      SQLException refusal =
          assertThrows(SQLException.class, () -> fence.claim(early, "stock/42", 8));
      assertEquals("23505", refusal.getSQLState());
      early.rollback();
      fence.claim(early, "stock/42", 8);
      early.rollback();
    }
  }

  @Test
  void namesThatDifferInCaseOnlyAreTwoEvenWithIgnoreCase() throws SQLException {
    JdbcFence fence = JdbcFence.create();
    try (Connection connection =
        DriverManager.getConnection("jdbc:h2:mem:ignore-case;IGNORECASE=TRUE")) {
      fence.createTable(connection);
      fence.claim(connection, "job", 7);
      fence.claim(connection, "JOB", 5);
      connection.setAutoCommit(false);
      fence.check(connection, "job", 7);
      fence.check(connection, "JOB", 5);
    }
  }
}
