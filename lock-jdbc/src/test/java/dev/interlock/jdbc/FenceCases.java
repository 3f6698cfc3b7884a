package dev.interlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.MultiLease;
import dev.interlock.StaleTokenException;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Cases for the fence on every database. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class FenceCases {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final String NAME = "stock/42";

  /** The codes of transactions to repeat: a conflict of snapshots, and a deadlock. */
  private static final Set<Integer> MARIADB_ROLLED_BACK = Set.of(1020, 1213);

  private final JdbcFence fence = JdbcFence.create();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<Connection> open = new ArrayList<>();
  private Connection one;
  private Connection two;

  /** Opens a connection. */
  abstract Connection connect() throws SQLException;

  /** Returns the number of connections that wait for a lock. */
  abstract int waiting() throws Exception;

  /** Returns the isolation levels at which the fence works according to the page. */
  abstract List<Integer> isolationLevels();

  /** Returns the name of the database in docs/fencing.md. */
  abstract String documentedAs();

  @BeforeEach
  final void openConnections() throws SQLException {
    one = opened();
    two = opened();
    execute(one, "DROP TABLE IF EXISTS interlock_fence");
    execute(one, "DROP TABLE IF EXISTS stock");
    execute(one, "CREATE TABLE stock (id INT PRIMARY KEY, quantity INT, fence BIGINT)");
    execute(one, "INSERT INTO stock VALUES (42, 1, 0)");
    one.commit();
    fence.createTable(one);
    one.commit();
  }

  @AfterEach
  final void closeConnections() throws SQLException {
    for (Connection connection : open) {
      connection.rollback();
      connection.close();
    }
    open.clear();
  }

  @AfterAll
  final void endThreads() {
    threads.shutdown();
  }

  private Connection opened() throws SQLException {
    Connection connection = connect();
    connection.setAutoCommit(false);
    connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
    open.add(connection);
    return connection;
  }

  private static int execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      return statement.executeUpdate(sql);
    }
  }

  private int claimAndRead(Connection connection, long token) throws SQLException {
    fence.claim(connection, NAME, token);
    connection.commit();
    int quantity = JdbcStock.read(connection);
    connection.commit();
    return quantity;
  }

  private void write(Connection connection, long token, int quantity) throws SQLException {
    fence.check(connection, NAME, token);
    JdbcStock.write(connection, quantity);
    connection.commit();
  }

  private StaleTokenException refused(Connection connection, Step step) throws SQLException {
    StaleTokenException refusal = assertThrows(StaleTokenException.class, step::run);
    connection.rollback();
    return refusal;
  }

  private interface Step {
    void run() throws SQLException;
  }

  @Test
  void theHolderWrites() throws Exception {
    int quantity = claimAndRead(one, 7);
    write(one, 7, quantity - 1);
    assertEquals(0, JdbcStock.read(two));
  }

  @Test
  void aLateWriteIsRefusedAfterTheSuccessorHasWritten() throws Exception {
    int readByFirst = claimAndRead(one, 7);
    int readBySecond = claimAndRead(two, 8);
    write(two, 8, readBySecond + 5);
    StaleTokenException refusal = refused(one, () -> write(one, 7, readByFirst - 1));
    assertTrue(refusal.isSuperseded());
    assertEquals(NAME, refusal.name());
    assertEquals(7, refusal.token());
    assertEquals(OptionalLong.of(8), refusal.claimedToken());
    assertEquals(6, JdbcStock.read(one));
  }

  @Test
  void aLateWriteIsRefusedBetweenTheReadOfTheSuccessorAndItsWrite() throws Exception {
    int readByFirst = claimAndRead(one, 7);
    int readBySecond = claimAndRead(two, 8);
    refused(one, () -> write(one, 7, readByFirst - 1));
    refused(one, () -> fence.claim(one, NAME, 7));
    write(two, 8, readBySecond - 1);
    assertEquals(0, JdbcStock.read(one));
  }

  @Test
  void theSameTokenIsAcceptedAgain() throws Exception {
    claimAndRead(one, 7);
    int quantity = claimAndRead(two, 7);
    write(one, 7, quantity + 1);
    write(two, 7, quantity + 2);
    fence.check(one, NAME, 7);
    fence.check(one, NAME, 7);
  }

  @Test
  void aTokenThatIsNotClaimedWritesNothing() throws Exception {
    StaleTokenException none = refused(one, () -> write(one, 7, 0));
    assertEquals(OptionalLong.empty(), none.claimedToken());
    assertFalse(none.isSuperseded());
    claimAndRead(one, 7);
    StaleTokenException lower = refused(two, () -> write(two, 8, 0));
    assertEquals(OptionalLong.of(7), lower.claimedToken());
    assertFalse(lower.isSuperseded());
    assertEquals(1, JdbcStock.read(two));
  }

  @Test
  void aRolledBackClaimDoesNotCount() throws Exception {
    claimAndRead(one, 7);
    fence.claim(two, NAME, 8);
    two.rollback();
    write(one, 7, 0);
  }

  @Test
  void aDeletedFenceRefusesEarlierClaims() throws Exception {
    claimAndRead(one, 7);
    execute(two, "DELETE FROM interlock_fence");
    two.commit();
    refused(one, () -> write(one, 7, 0));
  }

  /** A later holder reads all earlier writes. */
  @ParameterizedTest
  @MethodSource("isolationLevels")
  void aClaimWaitsForTheTransactionThatHasChecked(int isolation) throws Exception {
    claimWhileAnotherTransactionHasChecked(8, isolation);
    refused(one, () -> fence.check(one, NAME, 7));
  }

  /** The holder whose commit was not answered claims again, on another connection. */
  @Test
  void afterALostCommitAnswerAClaimWaitsForThatTransaction() throws Exception {
    claimWhileAnotherTransactionHasChecked(7, Connection.TRANSACTION_READ_COMMITTED);
    fence.check(one, NAME, 7);
  }

  private void claimWhileAnotherTransactionHasChecked(long token, int isolation) throws Exception {
    int quantity = claimAndRead(one, 7);
    two.setTransactionIsolation(isolation);
    one.setTransactionIsolation(isolation);
    fence.check(one, NAME, 7);
    JdbcStock.write(one, quantity + 5);
    Future<Integer> readBySuccessor = threads.submit(() -> claimUntilNotRolledBack(two, token));
    Eventually.holds("the claim waits", () -> waiting() > 0);
    one.commit();
    assertEquals(6, readBySuccessor.get(60, TimeUnit.SECONDS));
  }

  /** Claims and reads in one transaction, at the connection's isolation level. */
  private int claimUntilNotRolledBack(Connection connection, long token) throws SQLException {
    while (true) {
      try {
        fence.claim(connection, NAME, token);
        int quantity = JdbcStock.read(connection);
        connection.commit();
        return quantity;
      } catch (SQLException e) {
        connection.rollback();
        if (!mayBeRepeated(e)) {
          throw e;
        }
      }
    }
  }

  private static boolean mayBeRepeated(SQLException e) {
    return "40001".equals(e.getSQLState()) || MARIADB_ROLLED_BACK.contains(e.getErrorCode());
  }

  static int number(Connection connection, String query) throws SQLException {
    try (Statement statement = connection.createStatement();
        var row = statement.executeQuery(query)) {
      row.next();
      return row.getInt(1);
    }
  }

  @Test
  void concurrentClaimsEndWithTheHighest() throws Exception {
    List<Long> tokens =
        new ArrayList<>(IntStream.rangeClosed(1, 200).mapToObj(Long::valueOf).toList());
    Collections.shuffle(tokens, new Random(1));
    AtomicInteger next = new AtomicInteger();
    AtomicInteger accepted = new AtomicInteger();
    inParallel(
        8,
        connection -> {
          for (int i = next.getAndIncrement(); i < tokens.size(); i = next.getAndIncrement()) {
            try {
              fence.claim(connection, NAME, tokens.get(i));
              connection.commit();
              accepted.incrementAndGet();
            } catch (StaleTokenException e) {
              assertTrue(e.claimedToken().orElseThrow() > tokens.get(i));
              connection.rollback();
            }
          }
        });
    fence.check(one, NAME, 200);
    assertTrue(accepted.get() > 0 && accepted.get() < 200, accepted::toString);
  }

  /** On InnoDB, locks on the gaps between rows could block each other. */
  @Test
  void firstClaimsOfDifferentNamesDoNotBlockEachOther() throws Exception {
    int isolation = connect().getTransactionIsolation();
    AtomicInteger next = new AtomicInteger();
    inParallel(
        8,
        connection -> {
          connection.setTransactionIsolation(isolation);
          for (int i = 0; i < 20; i++) {
            fence.claim(connection, "order/" + next.incrementAndGet(), 1);
            connection.commit();
          }
        });
    assertEquals(160, number(one, "SELECT COUNT(*) FROM interlock_fence"));
  }

  /** The lock excludes nobody, so the fence alone must keep the sum right. */
  @Test
  void theRecipeSellsNoPieceTwiceWithoutAnyExclusion() throws Exception {
    JdbcStock.write(one, 1000);
    one.commit();
    JdbcStock stock = new JdbcStock();
    AtomicInteger sold = new AtomicInteger();
    AtomicInteger refused = new AtomicInteger();
    try (LockClient client = LockClient.open("memory:" + documentedAs());
        Lease lease = client.lock("held").acquire()) {
      inParallel(
          6,
          connection -> {
            for (int i = 0; i < 30; i++) {
              try {
                assertTrue(stock.sell(connection, new UnlockedLease(lease)));
                sold.incrementAndGet();
              } catch (StaleTokenException e) {
                connection.rollback();
                refused.incrementAndGet();
              }
            }
          });
    }
    assertEquals(1000 - sold.get(), JdbcStock.read(one));
    assertTrue(sold.get() > 0, "nothing was sold");
    assertTrue(refused.get() > 0, "nothing was refused");
  }

  private interface Work {
    void run(Connection connection) throws Exception;
  }

  private void inParallel(int number, Work work) throws Exception {
    CountDownLatch start = new CountDownLatch(number);
    List<Future<?>> running = new ArrayList<>();
    for (int i = 0; i < number; i++) {
      Connection connection = opened();
      Callable<Void> task =
          () -> {
            start.countDown();
            start.await();
            work.run(connection);
            return null;
          };
      running.add(threads.submit(task));
    }
    for (Future<?> each : running) {
      each.get(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void everyNameHasItsOwnFence() throws Exception {
    List<String> names =
        List.of(
            "a",
            "A",
            "a ",
            " a",
            "ä",
            "a\u0308",
            "%61",
            "\0",
            "'; --",
            "\uD83D\uDE00".repeat(255),
            "\uD83D\uDE00".repeat(254),
            "x".repeat(255));
    for (int i = 0; i < names.size(); i++) {
      fence.claim(one, names.get(i), i + 1);
    }
    for (int i = 0; i < names.size(); i++) {
      fence.check(one, names.get(i), i + 1);
    }
    one.commit();
    assertEquals(names.size(), number(one, "SELECT COUNT(*) FROM interlock_fence"));
  }

  @Test
  void aSetOfLocksHasAFenceForEach() throws Exception {
    try (LockClient client = LockClient.open("memory:set-" + documentedAs());
        MultiLease both = client.multiLock(List.of("b", "a")).acquire()) {
      fence.claim(one, both);
      fence.check(one, both);
      one.commit();
      fence.check(one, "a", both.fencingToken("a"));
      one.commit();
      fence.claim(two, "b", both.fencingToken("b") + 1);
      two.commit();
      assertEquals("b", refused(one, () -> fence.check(one, both)).name());
    }
  }

  @Test
  void aCheckThatProtectsNothingIsRefused() throws Exception {
    one.setAutoCommit(true);
    fence.claim(one, NAME, 7);
    assertThrows(IllegalStateException.class, () -> fence.check(one, NAME, 7));
    one.setAutoCommit(false);
    fence.check(one, NAME, 7);
  }

  @Test
  void aKnownFailureSendsNothing() throws Exception {
    Connection closed = connect();
    closed.close();
    try (LockClient client = LockClient.open("memory:fails-" + documentedAs())) {
      Lease released = client.lock(NAME).acquire();
      released.release();
      assertThrows(IllegalStateException.class, () -> fence.claim(closed, released));
      assertThrows(IllegalStateException.class, () -> fence.check(closed, released));
      Lease lost = client.lock(NAME).acquire();
      client.admin().forceRelease(NAME);
      lost.onLoss().get(60, TimeUnit.SECONDS);
      assertThrows(LeaseLostException.class, () -> fence.claim(closed, lost));
      assertThrows(LeaseLostException.class, () -> fence.check(closed, lost));
    }
    assertThrows(IllegalArgumentException.class, () -> fence.claim(closed, NAME, 0));
    assertThrows(IllegalArgumentException.class, () -> fence.check(closed, NAME, -1));
    assertThrows(IllegalArgumentException.class, () -> fence.claim(closed, "", 1));
  }

  @Test
  void anotherTableHasOtherFences() throws Exception {
    JdbcFence other = JdbcFence.inTable("other_fence");
    execute(one, "DROP TABLE IF EXISTS other_fence");
    other.createTable(one);
    other.createTable(one);
    fence.claim(one, NAME, 8);
    other.claim(one, NAME, 7);
    other.check(one, NAME, 7);
    for (String table : List.of("", "1a", "a b", "a;b", "a.b.c", "\"a\"", "a".repeat(64))) {
      assertThrows(IllegalArgumentException.class, () -> JdbcFence.inTable(table));
    }
  }

  @Test
  void thePageHasTheStatementThatCreatesTheTable() throws Exception {
    assertEquals(documented("table: " + documentedAs(), "sql"), fence.ddl(one) + ";\n");
  }

  /** Keeps the token in a column of the program's own table, in the page's order of events. */
  @Test
  void theRecipeWithAColumnRefusesTheLateWrite() throws Exception {
    String[] recipe = documented("recipe: column", "sql").split(";\n");
    assertEquals(3, recipe.length);
    assertEquals(1, execute(one, filled(recipe[0], 7)));
    one.commit();
    assertEquals(1, number(one, filled(recipe[1], 7)));
    one.commit();
    assertEquals(1, execute(two, filled(recipe[0], 8)));
    two.commit();
    assertEquals(0, execute(one, filled(recipe[2], 7)));
    assertEquals(0, execute(one, filled(recipe[0], 7)));
    one.commit();
    assertEquals(1, execute(two, filled(recipe[2], 8)));
  }

  private static String filled(String sql, long token) {
    return sql.replace(":id", "42").replace(":token", "" + token).replace(":quantity", "0");
  }

  @Test
  void thePageHasTheRecipeThatIsCompiledAndRun() throws Exception {
    String code =
        Files.readString(Path.of("src/test/java/dev/interlock/jdbc/JdbcStock.java"))
            .replace("\n  ", "\n");
    String recipe = documented("recipe: jdbc", "java");
    assertTrue(code.contains(recipe), () -> "no longer part of the code:\n" + recipe);
  }

  static String documented(String marker, String language) throws IOException {
    Matcher block =
        Pattern.compile("<!-- " + marker + " -->\n```" + language + "\n(.*?)```", Pattern.DOTALL)
            .matcher(Files.readString(Path.of("../docs/fencing.md")));
    assertTrue(block.find(), () -> "docs/fencing.md has no " + marker);
    return block.group(1);
  }
}
