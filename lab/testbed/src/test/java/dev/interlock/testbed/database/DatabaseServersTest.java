package dev.interlock.testbed.database;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.server.BindConflictException;
import dev.interlock.testbed.server.NoServerException;
import dev.interlock.testbed.server.ServerSource;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class DatabaseServersTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();
  private static final Duration SHORT_TIMEOUT = Duration.ofMillis(200);
  private static final List<String> TABLE =
      List.of("CREATE TABLE t (x int)", "INSERT INTO t VALUES (7)");

  private static final Map<Kind, DatabaseServer> SERVERS = new EnumMap<>(Kind.class);

  enum Kind {
    POSTGRESQL,
    MARIADB;

    DatabaseBuilder<?, ? extends DatabaseServer> builder() {
      return this == POSTGRESQL
          ? Testbed.postgresql().using(ServerSource.ENDPOINT, ServerSource.BINARY)
          : Testbed.mariadb().using(ServerSource.ENDPOINT, ServerSource.BINARY);
    }

    /** The server of all tests that leave it running and without the table. */
    DatabaseServer shared() throws IOException {
      DatabaseServer server =
          SERVERS.computeIfAbsent(this, kind -> kind.builder().forFaults().start());
      server.execute("DROP TABLE IF EXISTS t");
      return server;
    }

    String setting() {
      return "interlock." + name().toLowerCase(java.util.Locale.ROOT) + ".uri";
    }

    /** The SQL function with which a session sleeps. */
    String sleep(int seconds) {
      return "SELECT " + (this == POSTGRESQL ? "pg_sleep(" : "sleep(") + seconds + ")";
    }
  }

  @AfterAll
  static void stop() {
    SERVERS.values().forEach(DatabaseServer::close);
    SERVERS.clear();
  }

  @AfterEach
  void forgetTheNames() {
    Stream.of(Kind.values()).map(Kind::setting).forEach(System::clearProperty);
  }

  private static Connection connect(DatabaseServer server) throws SQLException {
    return DriverManager.getConnection(server.jdbcUrl(), server.user(), server.password());
  }

  private static void fill(DatabaseServer server) throws SQLException {
    try (Connection connection = connect(server);
        Statement statement = connection.createStatement()) {
      for (String sql : TABLE) {
        statement.execute(sql);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aKilledServerComesBackWithWhatWasCommittedAndAnEmptiedOneWithout(Kind kind)
      throws Exception {
    DatabaseServer server = kind.shared();
    assertTrue(server.version().matches("\\d+(\\.\\d+)+"), server.version());
    assertTrue(server.source().startsWith("binary "), server.source());
    assertFalse(server.toString().contains(server.password()), server.toString());
    fill(server);
    server.kill();
    assertThrows(ConnectException.class, () -> new Socket(server.host(), server.port()).close());
    server.restart();
    assertEquals(List.of(List.of("7")), server.query("SELECT x FROM t"));
    server.restartEmpty();
    assertThrows(IOException.class, () -> server.query("SELECT x FROM t"));
    fill(server);
  }

  /** PostgreSQL has a process for each connection. */
  @ParameterizedTest
  @EnumSource
  void aPausedServerIsSilentAlsoToThoseWhoAreConnected(Kind kind) throws Exception {
    DatabaseServer server = kind.shared();
    try (Connection connection = connect(server);
        Statement statement = connection.createStatement()) {
      server.pause();
      assertFalse(server.answers(SHORT_TIMEOUT));
      CompletableFuture<Boolean> answer =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return statement.execute("SELECT 1");
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      assertThrows(TimeoutException.class, () -> answer.get(200, TimeUnit.MILLISECONDS));
      server.resume();
      assertTrue(answer.get(1, TimeUnit.MINUTES));
      server.pause();
      server.kill();
      server.heal();
      assertEquals(List.of(List.of("1")), server.query("SELECT 1"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aKilledServerEndsWhatItsClientsHaveUnderWay(Kind kind) throws Exception {
    DatabaseServer server = kind.shared();
    try (Connection connection = connect(server);
        Statement statement = connection.createStatement()) {
      fill(server);
      connection.setAutoCommit(false);
      statement.execute("DELETE FROM t");
      CompletableFuture<Void> sleep =
          CompletableFuture.runAsync(
              () -> assertThrows(SQLException.class, () -> statement.execute(kind.sleep(3_600))));
      server.kill();
      sleep.get(1, TimeUnit.MINUTES);
      server.restart();
      assertEquals(List.of(List.of("7")), server.query("SELECT x FROM t"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void clientsHaveAPasswordAndOnlyTheirOwnDatabase(Kind kind) throws Exception {
    DatabaseServer server = kind.shared();
    try (Connection connection = connect(server);
        Statement statement = connection.createStatement()) {
      assertThrows(
          SQLException.class,
          () -> DriverManager.getConnection(server.jdbcUrl(), server.user(), "wrong"));
      assertThrows(SQLException.class, () -> statement.execute("CREATE DATABASE other"));
      fill(server);
      // one system needs the word before the name, the other after it
      server.execute("DROP USER IF EXISTS reader");
      server.execute("CREATE USER reader " + (kind == Kind.POSTGRESQL ? "" : "IDENTIFIED BY 'r'"));
      server.execute("GRANT SELECT ON t TO reader");
      if (kind == Kind.POSTGRESQL) {
        server.execute("ALTER USER reader PASSWORD 'r'");
      }
      try (Connection readers = DriverManager.getConnection(server.jdbcUrl(), "reader", "r");
          Statement readersStatement = readers.createStatement()) {
        assertTrue(readersStatement.execute("SELECT x FROM t"));
        assertThrows(SQLException.class, () -> readersStatement.execute("DELETE FROM t"));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void theClockIsTheServersOwn(Kind kind) throws Exception {
    Duration hour = Duration.ofHours(1);
    try (DatabaseServer server =
        Testbed.firstAvailable(kind.builder().clockAhead(hour), kind.builder())) {
      assumeTrue(server.canSetClock() || Testbed.requiresAll(), "a wrong clock needs a C compiler");
      assertEquals(hour, server.clockAhead()); // and the server has told so when it was started
      server.query(kind.sleep(1)); // not for an hour and a second
      server.setClock(hour.negated());
      server.restart();
      server.setClock(hour.negated());
    }
    assertFalse(kind.shared().canSetClock());
  }

  @ParameterizedTest
  @EnumSource
  void aServerThatCannotStartTellsWhatItWrote(Kind kind) {
    NoServerException e =
        assertThrows(
            NoServerException.class, () -> kind.builder().config("no_such_setting = 1").start());
    assertTrue(e.getMessage().contains("no_such_setting"), e.getMessage());
  }

  @ParameterizedTest
  @EnumSource
  void aTakenPortIsToldAsSuch(Kind kind) throws IOException {
    DatabaseServer server = kind.shared();
    server.kill();
    try (ServerSocket other =
        new ServerSocket(server.port(), 1, InetAddress.getLoopbackAddress())) {
      assertTrue(other.isBound());
      assertThrows(BindConflictException.class, server::restart);
    }
    server.restart();
  }

  @ParameterizedTest
  @EnumSource
  void anEndpointThatTheUserNamesIsUsedAndLeftAlone(Kind kind) throws IOException {
    DatabaseServer users = kind.shared();
    System.setProperty(kind.setting(), users.uri());
    try (DatabaseServer server = kind.builder().start()) {
      assertEquals(users.uri(), server.uri());
      assertEquals(users.jdbcUrl(), server.jdbcUrl());
      assertEquals("endpoint 127.0.0.1:" + users.port(), server.source());
      assertEquals(List.of(), server.members());
      assertThrows(UnsupportedOperationException.class, server::kill);
      server.execute(TABLE.toArray(String[]::new));
    }
    assertEquals(List.of(List.of("7")), users.query("SELECT x FROM t"));
  }
}
