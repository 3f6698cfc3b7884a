package dev.interlock.compare.baseline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.DatabaseServer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class JdbcDriverTest {
  private static final String TABLES =
      "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'interlock%'";

  enum Kind {
    POSTGRESQL,
    MARIADB;

    DatabaseServer start() {
      return this == POSTGRESQL ? Testbed.postgresql().start() : Testbed.mariadb().start();
    }

    String scheme() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  @ParameterizedTest
  @EnumSource
  void onlyOneClientCanInsertTheRowAndNothingIsLeft(Kind kind) throws Exception {
    BareDriver driver = BareDriver.of(kind.scheme()).orElseThrow();
    try (DatabaseServer server = kind.start()) {
      try (BareDriver.Session session = driver.open(server.uri(), 4);
          Connection client =
              DriverManager.getConnection(server.jdbcUrl(), server.user(), server.password());
          Statement statement = client.createStatement()) {
        assertEquals(0, session.storedKeys());
        CompletableFuture.allOf(
                IntStream.range(0, 8)
                    .mapToObj(i -> CompletableFuture.runAsync(() -> cycles(session, "lock " + i)))
                    .toArray(CompletableFuture[]::new))
            .join();
        assertEquals(0, session.storedKeys());
        String table = tables(statement).get(0);
        statement.execute("INSERT INTO " + table + " VALUES ('held', 'another')");
        assertThrows(SQLException.class, () -> session.cycle("held"));
        assertEquals(1, session.storedKeys());
      }
      assertEquals(Optional.empty(), tables(server).stream().findFirst());
    }
  }

  private static void cycles(BareDriver.Session session, String name) {
    try {
      for (int i = 0; i < 5; i++) {
        session.cycle(name);
      }
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<String> tables(Statement statement) throws SQLException {
    try (ResultSet row = statement.executeQuery(TABLES)) {
      return row.next() ? List.of(row.getString(1)) : List.of();
    }
  }

  private static List<String> tables(DatabaseServer server) throws Exception {
    return server.query(TABLES).stream().map(row -> String.valueOf(row.get(0))).toList();
  }
}
