package dev.interlock.jdbc;

import static dev.interlock.jdbc.Backends.claim;
import static dev.interlock.jdbc.Backends.soon;
import static dev.interlock.jdbc.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.DatabaseServer;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.postgresql.ds.PGSimpleDataSource;

/** Logins, rights and missing servers. */
class AccessTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  @AutoClose
  private static final DatabaseServer postgresql = Testbed.postgresql().withoutSync().start();

  @AutoClose private static final DatabaseServer mariadb = Testbed.mariadb().withoutSync().start();

  private static DatabaseServer server(JdbcDatabase database) {
    return database == JdbcDatabase.POSTGRESQL ? postgresql : mariadb;
  }

  private static String uri(JdbcDatabase database, String user, String password) {
    return server(database).uri(user, password).replaceFirst("^[a-z]+", database.scheme());
  }

  private static LockException refusal(Class<? extends LockException> kind, String uri) {
    LockException refusal =
        assertThrows(kind, () -> Backends.open(uri, Duration.ofSeconds(20)).close());
    assertFalse(String.valueOf(refusal.getMessage()).contains("mistake"), refusal::toString);
    return refusal;
  }

  private static void assertSays(String expected, LockException refusal) {
    assertTrue(String.valueOf(refusal.getMessage()).contains(expected), refusal::toString);
  }

  @ParameterizedTest
  @EnumSource(
      value = JdbcDatabase.class,
      names = {"POSTGRESQL", "MARIADB", "MYSQL"})
  void configurationErrorsAreExplained(JdbcDatabase database) {
    assertSays(
        "refuses the user or the password",
        refusal(LockConfigurationException.class, uri(database, DatabaseServer.USER, "mistake")));
    assertSays(
        database == JdbcDatabase.POSTGRESQL ? "does not have the database" : "does not",
        refusal(
            LockConfigurationException.class,
            uri(database, DatabaseServer.USER, DatabaseServer.PASSWORD)
                .replaceFirst("/[a-z]+$", "/missing")));
    refusal(
        LockUnavailableException.class,
        uri(database, DatabaseServer.USER, DatabaseServer.PASSWORD).replaceFirst(":\\d+/", ":1/"));
  }

  /** The user has the documented rights, and no others. */
  @ParameterizedTest
  @EnumSource(
      value = JdbcDatabase.class,
      names = {"POSTGRESQL", "MARIADB"})
  void theDocumentedRightsAreEnough(JdbcDatabase database) throws Exception {
    DatabaseServer server = server(database);
    boolean postgres = database == JdbcDatabase.POSTGRESQL;
    JdbcSettings settings = JdbcSettings.builder().table("granted_lock").build();
    server.execute(JdbcLocks.schema(database, settings).split(";\n"));
    server.execute(
        postgres
            ? "CREATE ROLE app LOGIN PASSWORD 'secret'"
            : "CREATE USER app IDENTIFIED BY 'secret'");
    String uri = uri(database, "app", "secret") + "?table=granted_lock";

    String refused = postgres ? "does not grant the user" : "does not";
    assertSays(refused, refusal(LockConfigurationException.class, uri));
    server.execute(grant(database).replace("interlock_lock", "granted_lock"));
    try (LockBackend backend = Backends.open(uri)) {
      for (Share share : List.of(Share.EXCLUSIVE, Share.READ)) {
        for (int i = 0; i < 40; i++) {
          Claim claim = claim("job" + share.kind() + i, share);
          take(backend, claim);
          assertInstanceOf(Attempt.Busy.class, busy(backend, claim));
          assertTrue(backend.inspect(claim.name(), soon()).isHeld());
          assertTrue(backend.release(claim, soon()));
        }
      }
      assertTrue(backend.list("", null, 10, soon()).locks().isEmpty());
    }
    // Without even the right to create a table, because the table exists.
    assertSays(
        postgres ? "is missing; create it" : "does not grant the user",
        refusal(
            LockConfigurationException.class, uri(database, "app", "secret") + "?table=not_there"));

    server.execute("REVOKE UPDATE ON granted_lock FROM app");
    try (LockBackend backend = Backends.open(uri)) {
      LockException refusal =
          assertThrows(
              LockConfigurationException.class, () -> backend.tryAcquire(claim("job"), soon()));
      assertSays("SELECT, INSERT, UPDATE and DELETE on granted_lock", refusal);
    }
  }

  private static Attempt busy(LockBackend backend, Claim held) throws InterruptedException {
    Share share = held.share().isExclusive() ? Share.EXCLUSIVE : Share.WRITE;
    return backend.tryAcquire(claim(held.name(), share), soon());
  }

  private static String grant(JdbcDatabase database) throws IOException {
    Matcher grant =
        Pattern.compile("<!-- grant: " + database.scheme() + " -->\n```sql\n(.*?);\n```")
            .matcher(Files.readString(Path.of("../docs/backends/jdbc.md")));
    assertTrue(grant.find(), "the page does not say it");
    return grant.group(1);
  }

  @Test
  void aPoolOfTheProgramMayBeExhausted() throws Exception {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(postgresql.jdbcUrl());
    config.setUsername(postgresql.user());
    config.setPassword(postgresql.password());
    config.setMaximumPoolSize(1);
    config.setConnectionTimeout(250);
    HikariDataSource pool = new HikariDataSource(config);
    LockOptions options = LockOptions.builder().requestTimeout(Duration.ofSeconds(20)).build();
    try (pool;
        LockClient client = JdbcLocks.using(pool, options)) {
      client.lock("job").acquire().close();
      try (var taken = pool.getConnection()) {
        LockUnavailableException exhausted =
            assertThrows(LockUnavailableException.class, () -> client.lock("job").tryAcquire());
        assertFalse(exhausted.isInDoubt());
        assertSays("no connection in time", exhausted);
        assertFalse(taken.isClosed());
      }
      client.lock("job").acquire().close();
    }
  }

  /** Requests with more time occupy all connections. */
  @Test
  void aRequestWithLittleTimeDoesNotWaitForAConnectionAsLongAsOthersMay() throws Exception {
    String name = "occupied";
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try (LockBackend backend =
            Backends.open(postgresql.uri() + "?maxConnections=1", Duration.ofSeconds(20));
        Connection other =
            DriverManager.getConnection(
                postgresql.jdbcUrl(), postgresql.user(), postgresql.password())) {
      Claim claim = claim(name);
      take(backend, claim);
      other.setAutoCommit(false);
      try (Statement statement = other.createStatement()) {
        statement.executeUpdate(
            "UPDATE interlock_lock SET awaited = awaited WHERE name = '" + name + "'");
      }
      Future<Boolean> release = thread.submit(() -> backend.release(claim, soon()));
      long end = System.nanoTime() + Backends.TIMEOUT.toNanos();
      while (postgresql
          .query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
          .isEmpty()) {
        assertTrue(System.nanoTime() - end < 0, "the release does not wait for the row");
      }
      long begin = System.nanoTime();
      Deadline little = Deadline.in(TimeSource.system(), Duration.ofSeconds(1));
      LockUnavailableException refusal =
          assertThrows(LockUnavailableException.class, () -> backend.inspect("another", little));
      assertFalse(refusal.isInDoubt());
      Duration took = Duration.ofNanos(System.nanoTime() - begin);
      assertTrue(took.compareTo(Duration.ofSeconds(15)) < 0, took::toString);
      other.rollback();
      assertTrue(release.get(Backends.TIMEOUT.toSeconds(), TimeUnit.SECONDS));
    } finally {
      thread.shutdownNow();
    }
  }

  /**
   * The server of an open connection has become a replica, and its address leads to another server.
   */
  @Test
  void aConnectionToAReadOnlyServerIsNotUsedAgain() throws Exception {
    postgresql.execute(
        "CREATE ROLE reader LOGIN SUPERUSER PASSWORD 'secret'",
        "ALTER ROLE reader SET default_transaction_read_only = on");
    try (LockBackend first = Backends.open(postgresql.uri());
        LockBackend backend = Backends.open(uri(JdbcDatabase.POSTGRESQL, "reader", "secret"))) {
      take(first, claim("written"));
      LockException refusal =
          assertThrows(
              LockUnavailableException.class, () -> backend.tryAcquire(claim("demoted"), soon()));
      assertSays("is read-only", refusal);
      postgresql.execute("ALTER ROLE reader RESET default_transaction_read_only");
      take(backend, claim("demoted"));
    }
  }

  /**
   * The answer to a grant is lost. Then the database refuses the user, as when an administrator
   * revokes the login and ends its connections.
   */
  @Test
  void aGrantInDoubtIsNoRefusal() throws Exception {
    AtomicInteger connections = new AtomicInteger();
    PGSimpleDataSource source =
        new PGSimpleDataSource() {
          @Override
          public Connection getConnection() throws SQLException {
            return switch (connections.incrementAndGet()) {
              case 4 -> losingAnswers(super.getConnection());
              case 5 -> throw new SQLException("role is not permitted to log in", "28000");
              default -> super.getConnection();
            };
          }
        };
    source.setUrl(postgresql.jdbcUrl());
    source.setUser(postgresql.user());
    source.setPassword(postgresql.password());
    try (LockBackend backend = Backends.open(source, JdbcSettings.defaults())) {
      Claim claim = claim("doubt");
      LockUnavailableException refusal =
          assertThrows(LockUnavailableException.class, () -> backend.tryAcquire(claim, soon()));
      assertEquals(5, connections.get());
      assertTrue(refusal.isInDoubt());
      assertSays("role is not permitted to log in", refusal);
      assertTrue(backend.release(claim, soon()), "it had been granted");
    }
  }

  /** A pooler sends a statement to a session that has not prepared it. */
  @Test
  void aStatementThatTheSessionDoesNotKnowIsRepeated() throws Exception {
    DataSource source = source();
    ProgramSource forgetful = () -> forgetting(source.getConnection());
    try (HikariDataSource pool = new HikariDataSource()) {
      pool.setDataSource(forgetful);
      LockBackend backend = Backends.open(pool, JdbcSettings.defaults());
      for (int i = 0; i < 10; i++) { // the driver names what is executed for the fifth time
        Claim claim = claim("forgotten");
        take(backend, claim);
        assertTrue(backend.release(claim, soon()));
      }
      backend.close();
    }
  }

  private static DataSource source() {
    PGSimpleDataSource source = new PGSimpleDataSource();
    source.setUrl(postgresql.jdbcUrl());
    source.setUser(postgresql.user());
    source.setPassword(postgresql.password());
    return source;
  }

  private static Connection forgetting(Connection connection) {
    return proxy(
        Connection.class,
        connection,
        (method, result) -> {
          if (method.equals("prepareStatement")) {
            try (Statement statement = connection.createStatement()) {
              statement.execute("DO 'BEGIN EXECUTE ''DEALLOCATE ALL''; END'");
            }
          }
          return result;
        });
  }

  /** A connection that breaks after each query. */
  private static Connection losingAnswers(Connection connection) {
    return proxy(
        Connection.class,
        connection,
        (method, result) ->
            result instanceof PreparedStatement statement
                ? proxy(
                    PreparedStatement.class,
                    statement,
                    (called, answer) -> {
                      if (called.equals("executeQuery")) {
                        connection.close();
                        throw new SQLException("the answer is lost", "08006");
                      }
                      return answer;
                    })
                : result);
  }

  private interface Answer {
    @Nullable Object of(String method, @Nullable Object result) throws SQLException;
  }

  private static <T> T proxy(Class<T> type, T target, Answer answer) {
    return type.cast(
        Proxy.newProxyInstance(
            AccessTest.class.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              try {
                return answer.of(method.getName(), method.invoke(target, arguments));
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }));
  }

  /** The table is found by the search path, on which PostgreSQL skips forbidden schemas. */
  @Test
  void aTableInAForbiddenSchemaDoesNotCountAsMissing() throws Exception {
    JdbcSettings settings = JdbcSettings.builder().table("hidden_lock").build();
    postgresql.execute(
        "CREATE SCHEMA hidden",
        "CREATE ROLE hider LOGIN PASSWORD 'secret'",
        "ALTER ROLE hider SET search_path = hidden, public",
        "GRANT CREATE ON SCHEMA public TO hider",
        "GRANT USAGE, CREATE ON SCHEMA hidden TO hider");
    PGSimpleDataSource source = new PGSimpleDataSource();
    source.setUrl(postgresql.jdbcUrl());
    source.setUser("hider");
    source.setPassword("secret");
    try (LockBackend backend = Backends.open(source, settings)) {
      for (Share share : List.of(Share.EXCLUSIVE, Share.READ)) {
        Claim claim = claim("job" + share.kind(), share);
        Grant grant = take(backend, claim);
        postgresql.execute("REVOKE USAGE ON SCHEMA hidden FROM hider");
        assertInstanceOf(Renewal.Failed.class, backend.renewAll(List.of(grant), soon()).get(0));
        Claim other = claim(claim.name(), share);
        LockException refusal =
            assertThrows(LockConfigurationException.class, () -> backend.tryAcquire(other, soon()));
        assertSays("USAGE", refusal);
        assertThrows(LockConfigurationException.class, () -> backend.inspect(claim.name(), soon()));
        assertThrows(LockConfigurationException.class, () -> backend.release(claim, soon()));
        postgresql.execute("GRANT USAGE ON SCHEMA hidden TO hider");
        assertTrue(backend.release(claim, soon()));
      }
    }
  }
}
