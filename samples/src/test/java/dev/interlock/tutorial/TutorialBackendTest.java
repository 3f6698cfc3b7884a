package dev.interlock.tutorial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.PostgresServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class TutorialBackendTest {

  private static final Duration CALL_TIMEOUT = Duration.ofMinutes(1);

  private static PostgresServer server;

  @BeforeAll
  static void start() {
    server = Testbed.postgresql().withoutSync().start();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  /** Returns a URI with time-outs longer than any pause of a busy machine. */
  private static String uri() {
    return server.uri().replace("postgresql:", "tutorial:") + "?requestTimeout=60s&ttl=5m";
  }

  @Test
  void clientsExcludeEachOtherAndTokensIncrease() throws Exception {
    try (LockClient one = LockClient.open(uri());
        LockClient two = LockClient.open(uri())) {
      long token;
      try (Lease lease = one.lock("a\u0000b").acquire()) {
        token = lease.fencingToken();
        assertEquals(Optional.empty(), two.lock("a\u0000b").tryAcquire());
        assertTrue(two.admin().inspect("a\u0000b").isHeld());
      }
      assertFalse(two.admin().inspect("a\u0000b").isHeld());
      try (Lease lease = two.lock("a\u0000b").acquire()) {
        assertTrue(lease.fencingToken() > token);
      }
    }
  }

  /** The statements in docs/guarantees.md, which must work as printed. */
  @Test
  void theFencingRecipeRefusesAWriteBetweenTheReadOfTheSuccessorAndItsWrite() throws Exception {
    try (Stock recipe = new Stock()) {
      assertEquals(1, recipe.claim(7));
      int readByFirst = recipe.read();
      assertEquals(1, recipe.claim(8));
      int readBySecond = recipe.read();
      assertEquals(0, recipe.write(7, readByFirst - 1));
      assertEquals(0, recipe.claim(7));
      assertEquals(1, recipe.write(8, readBySecond - 1));
      assertEquals(1, recipe.claim(8));
      assertEquals(0, recipe.read());
    }
  }

  /** The tutorial warns of this case: the store sees a token only with the write. */
  @Test
  void aTokenThatOnlyWritesCarryLetsOnePieceBeSoldTwice() throws Exception {
    try (Stock stock = new Stock()) {
      int readByFirst = stock.read();
      int readBySecond = stock.read();
      assertEquals(1, stock.writeWithoutClaim(7, readByFirst - 1));
      assertEquals(1, stock.writeWithoutClaim(8, readBySecond - 1));
      assertEquals(0, stock.writeWithoutClaim(7, readByFirst - 1));
      assertEquals(0, stock.read());
    }
  }

  /** The statements for readers and writers in docs/guarantees.md, in the order of its example. */
  @Test
  void theRecipeForReadersAndWritersRefusesTheLateOnesAndNoOthers() throws Exception {
    try (Prices recipe = new Prices()) {
      assertEquals(1, recipe.claimAsWriter(7));
      assertEquals(1, recipe.claimAsReader(9));
      assertEquals(1, recipe.claimAsReader(8));
      assertEquals(0, recipe.claimAsWriter(7));
      assertTrue(recipe.mayRead(8));
      assertTrue(recipe.mayRead(9));
      assertEquals(1, recipe.claimAsWriter(10));
      assertFalse(recipe.mayRead(8));
      assertEquals(0, recipe.claimAsReader(9));
      assertEquals(1, recipe.claimAsWriter(10));
      assertEquals(1, recipe.claimAsReader(11));
      assertEquals(0, recipe.claimAsWriter(10));
    }
  }

  /** A row that has the tokens of the latest writer and of the latest holder. */
  private static final class Prices implements AutoCloseable {
    private static final Pattern RECIPE =
        Pattern.compile("```sql\\n(.+ latest <= .+);\\n(.+);\\n(.+);\\n```");

    private final Connection connection;
    private final Matcher recipe;

    Prices() throws IOException, SQLException {
      recipe = RECIPE.matcher(Files.readString(Path.of("../docs/guarantees.md")));
      assertTrue(recipe.find(), "the recipe is gone");
      connection = connection();
      try (Statement statement = connection.createStatement()) {
        statement.execute("CREATE TEMPORARY TABLE prices (id int, writer bigint, latest bigint)");
        statement.execute("INSERT INTO prices VALUES (1, 0, 0)");
      }
    }

    private String statement(int number, long token) {
      return recipe.group(number).replace(":id", "1").replace(":token", "" + token);
    }

    private int update(int number, long token) throws SQLException {
      try (Statement statement = connection.createStatement()) {
        return statement.executeUpdate(statement(number, token));
      }
    }

    int claimAsWriter(long token) throws SQLException {
      return update(1, token);
    }

    int claimAsReader(long token) throws SQLException {
      return update(2, token);
    }

    boolean mayRead(long token) throws SQLException {
      try (Statement statement = connection.createStatement();
          ResultSet row = statement.executeQuery(statement(3, token))) {
        return row.next();
      }
    }

    @Override
    public void close() throws SQLException {
      connection.close();
    }
  }

  private static Connection connection() throws SQLException {
    return DriverManager.getConnection(server.jdbcUrl(), server.user(), server.password());
  }

  /** A table of its own, with an article of which one piece is left. */
  private static final class Stock implements AutoCloseable {
    private static final Pattern RECIPE = Pattern.compile("```sql\\n(.+);\\n(.+);\\n(.+);\\n```");

    private final Connection connection;
    private final Matcher recipe;

    Stock() throws IOException, SQLException {
      recipe = RECIPE.matcher(Files.readString(Path.of("../docs/guarantees.md")));
      assertTrue(recipe.find(), "the recipe is gone");
      connection = connection();
      execute("CREATE TEMPORARY TABLE stock (id int, quantity int, fence bigint)");
      execute("INSERT INTO stock VALUES (1, 1, 0)");
    }

    private int execute(String sql) throws SQLException {
      try (Statement statement = connection.createStatement()) {
        return statement.executeUpdate(sql);
      }
    }

    private static String filled(String sql, long token, int quantity) {
      return sql.replace(":id", "1")
          .replace(":token", "" + token)
          .replace(":quantity", "" + quantity);
    }

    int claim(long token) throws SQLException {
      return execute(filled(recipe.group(1), token, 0));
    }

    int read() throws SQLException {
      try (Statement statement = connection.createStatement();
          ResultSet row = statement.executeQuery(filled(recipe.group(2), 0, 0))) {
        assertTrue(row.next());
        return row.getInt(1);
      }
    }

    int write(long token, int quantity) throws SQLException {
      return execute(filled(recipe.group(3), token, quantity));
    }

    int writeWithoutClaim(long token, int quantity) throws SQLException {
      return execute(
          filled(
              "UPDATE stock SET quantity = :quantity, fence = :token"
                  + " WHERE id = :id AND fence <= :token",
              token,
              quantity));
    }

    @Override
    public void close() throws SQLException {
      connection.close();
    }
  }

  @Test
  void aMissingServerIsUnavailable() {
    assertThrows(
        LockUnavailableException.class,
        () -> LockClient.open("tutorial://127.0.0.1:1/database?requestTimeout=500ms"));
  }

  @Test
  void aMissingDatabaseIsAConfigurationError() {
    String missing =
        "tutorial://%s:%s@127.0.0.1:%d/not-there?requestTimeout=1s"
            .formatted(server.user(), server.password(), server.port());
    long end = System.nanoTime() + CALL_TIMEOUT.toNanos();
    while (true) {
      // the server reports that it is missing, but may be too busy to answer in time
      LockException refusal = assertThrows(LockException.class, () -> LockClient.open(missing));
      if (refusal instanceof LockConfigurationException) {
        return;
      }
      assertTrue(System.nanoTime() - end < 0, refusal::toString);
    }
  }
}
