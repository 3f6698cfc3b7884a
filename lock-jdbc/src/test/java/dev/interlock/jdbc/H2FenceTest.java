package dev.interlock.jdbc;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;

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
}
