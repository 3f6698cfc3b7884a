package dev.interlock.recipes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.interlock.LockClient;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongConsumer;
import java.util.function.ObjLongConsumer;
import javax.tools.ToolProvider;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The recipes with locks on a real Redis. Each client stands for a machine. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class RecipesTest {
  private static final String OPTIONS = "?ttl=5m&requestTimeout=60s";

  private static RedisServer redis;

  private final JdbcDataSource database = new JdbcDataSource();
  private Connection connection;
  private LockClient first;
  private LockClient second;

  @BeforeAll
  static void startRedis() {
    redis = Testbed.redis().start();
  }

  @AfterAll
  static void stopRedis() {
    redis.close();
  }

  @BeforeEach
  void open() throws SQLException {
    database.setURL("jdbc:h2:mem:recipes");
    connection = database.getConnection(); // the database lives as long as this connection
    first = LockClient.open(redis.uri() + OPTIONS);
    second = LockClient.open(redis.uri() + OPTIONS);
  }

  @AfterEach
  void close() throws SQLException {
    first.close();
    second.close();
    connection.close();
  }

  @Test
  void ofAFleetThatStartsAJobAtTheSameTimeOneMachineRunsIt() throws Exception {
    AtomicInteger runs = new AtomicInteger();
    ExecutorService fleet = Executors.newFixedThreadPool(5);
    List<LockClient> machines = new ArrayList<>();
    try {
      List<Callable<Boolean>> starts = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        LockClient machine = LockClient.open(redis.uri() + OPTIONS);
        machines.add(machine);
        starts.add(() -> new NightlyJob(machine).runUnlessTaken(runs::incrementAndGet));
      }
      int ran = 0;
      for (Future<Boolean> start : fleet.invokeAll(starts)) {
        ran += start.get() ? 1 : 0;
      }
      assertEquals(1, ran);
      assertEquals(1, runs.get());
    } finally {
      fleet.shutdownNow();
      machines.forEach(LockClient::close);
    }
  }

  @Test
  void aDayIsDoneOnceWhateverTheLockSays() throws Exception {
    execute("CREATE TABLE daily_run (job VARCHAR(100) PRIMARY KEY, last_day DATE)");
    execute("INSERT INTO daily_run VALUES ('nightly', DATE '2030-01-01')");
    LocalDate today = LocalDate.of(2030, 1, 2);
    assertTrue(DailyRun.begin(connection, "nightly", today));
    assertFalse(DailyRun.begin(connection, "nightly", today));
    assertTrue(DailyRun.begin(connection, "nightly", today.plusDays(1)));
  }

  @Test
  void aRuleInOneStatementNeedsNoLock() throws Exception {
    stockOf(1);
    assertTrue(stock(first).sellOne(1));
    assertFalse(stock(second).sellOne(1));
  }

  @Test
  void withoutTheTokenTheLastPieceIsSoldTwice() throws Exception {
    stockOf(1);
    AtomicInteger sold = new AtomicInteger();
    boolean soldLate =
        stock(first)
            .sellWithoutToken(
                1,
                inStock -> { // takes longer than the lease lasts
                  second.admin().forceRelease("stock/1");
                  sold.addAndGet(stock(second).sellWithoutToken(1, now -> true) ? 1 : 0);
                  return true;
                });
    assertEquals(2, sold.get() + (soldLate ? 1 : 0));
    assertEquals(0, left());
  }

  @Test
  void withTheTokenALateSaleIsRefused() throws Exception {
    stockOf(2);
    AtomicInteger sold = new AtomicInteger();
    assertThrows(
        IllegalStateException.class,
        () ->
            stock(first)
                .sell(
                    1,
                    left -> {
                      second.admin().forceRelease("stock/1");
                      sold.addAndGet(stock(second).sell(1, now -> true) ? 1 : 0);
                      return true;
                    }));
    assertEquals(1, sold.get());
    assertEquals(1, left());
  }

  @Test
  void withTheTokenALateSaleIsRefusedAlsoBeforeTheNextHolderHasWritten() throws Exception {
    stockOf(1);
    CountDownLatch read = new CountDownLatch(1);
    CountDownLatch refused = new CountDownLatch(1);
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try {
      Callable<Boolean> sale =
          () ->
              stock(second)
                  .sell(
                      1,
                      left -> {
                        read.countDown();
                        refused.await();
                        return true;
                      });
      List<Future<Boolean>> sales = new ArrayList<>();
      assertThrows(
          IllegalStateException.class,
          () ->
              stock(first)
                  .sell(
                      1,
                      left -> {
                        second.admin().forceRelease("stock/1");
                        sales.add(thread.submit(sale));
                        read.await();
                        return true;
                      }));
      assertEquals(1, left());
      refused.countDown();
      assertTrue(sales.get(0).get());
      assertEquals(0, left());
    } finally {
      thread.shutdownNow();
    }
  }

  @Test
  void oneInstanceDispatchesAndAnotherFollowsIt() throws Exception {
    BlockingQueue<String> tasks = new LinkedBlockingQueue<>();
    BlockingQueue<Long> tokens = new LinkedBlockingQueue<>();
    ObjLongConsumer<String> worker = (task, token) -> tokens.add(token);
    try (Dispatcher one = new Dispatcher(first, tasks, worker)) {
      tasks.add("task");
      long token = tokens.take();
      assertTrue(one.isLeader());
      assertTrue(one.isHealthy());
      try (Dispatcher other = new Dispatcher(second, tasks, worker)) {
        assertFalse(other.isLeader());
        one.close();
        tasks.add("another task");
        assertTrue(tokens.take() > token);
        assertTrue(other.isLeader());
      }
    }
  }

  @Test
  void transfersInOppositeDirectionsDoNotDeadlock() throws Exception {
    Map<String, Long> balances = new ConcurrentHashMap<>(Map.of("a", 1_000L, "b", 1_000L));
    Accounts.Ledger ledger =
        (from, fromToken, to, toToken, amount) -> {
          assertTrue(fromToken > 0 && toToken > 0);
          // without both locks, updates would be lost
          long debited = balances.get(from) - amount;
          long credited = balances.get(to) + amount;
          balances.put(from, debited);
          balances.put(to, credited);
          return true;
        };
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Callable<Boolean>> transfers = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        Accounts accounts = new Accounts(i % 2 == 0 ? first : second, ledger);
        boolean back = i % 3 == 0;
        transfers.add(() -> accounts.transfer(back ? "b" : "a", back ? "a" : "b", 1));
      }
      for (Future<Boolean> transfer : threads.invokeAll(transfers)) {
        assertTrue(transfer.get());
      }
    } finally {
      threads.shutdownNow();
    }
    assertEquals(Map.of("a", 968L, "b", 1_032L), balances);
  }

  @Test
  void anImportIsContinuedByTheNextHolder() throws Exception {
    Parts parts = new Parts(10);
    CountDownLatch half = new CountDownLatch(1);
    parts.after(
        5,
        () -> {
          half.countDown();
          new CountDownLatch(1).await(); // until the loss interrupts it
        });
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try {
      try (LockClient third = LockClient.open(redis.uri() + "?ttl=6s&requestTimeout=5s")) {
        Future<Boolean> interrupted = thread.submit(new LongImport(third, parts)::run);
        half.await();
        second.admin().forceRelease("import");
        assertTrue(new LongImport(second, parts).run());
        assertFalse(interrupted.get());
      }
    } finally {
      thread.shutdownNow();
    }
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), parts.stored());
  }

  /** Parts of an import, in a store that refuses late tokens. */
  private static final class Parts implements LongImport.Progress {
    private final int count;
    private final List<Integer> stored = new ArrayList<>();
    private long fence;
    private int pauseAfter = -1;
    private Pause pause = () -> {};

    @FunctionalInterface
    interface Pause {
      void await() throws InterruptedException;
    }

    Parts(int count) {
      this.count = count;
    }

    void after(int part, Pause action) {
      pauseAfter = part;
      pause = action;
    }

    @Override
    public synchronized int claim(long token) {
      assertTrue(token >= fence);
      fence = token;
      return stored.size();
    }

    @Override
    public void store(int part, long token) throws InterruptedException {
      synchronized (this) {
        if (token < fence) {
          throw new IllegalStateException("a later holder has taken over");
        }
        stored.add(part);
        if (stored.size() != pauseAfter) {
          return;
        }
        pauseAfter = -1;
      }
      pause.await();
    }

    @Override
    public boolean has(int part) {
      return part < count;
    }

    synchronized List<Integer> stored() {
      return List.copyOf(stored);
    }
  }

  @Test
  void aThousandVirtualThreadsTakeTurns(@TempDir Path classes) throws Exception {
    assumeTrue(Runtime.version().feature() >= 21, "this JVM has no virtual threads");
    int failed =
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                null,
                null,
                "-proc:none",
                "-cp",
                System.getProperty("java.class.path"),
                "-d",
                classes.toString(),
                "src/main/java21/dev/interlock/recipes/VirtualThreads.java");
    assertEquals(0, failed);
    LongAdder shipped = new LongAdder();
    LongConsumer ship = token -> shipped.increment();
    try (URLClassLoader loader =
        new URLClassLoader(
            new URL[] {classes.toUri().toURL()}, LockClient.class.getClassLoader())) {
      loader
          .loadClass("dev.interlock.recipes.VirtualThreads")
          .getMethod("shipAll", LockClient.class, int.class, LongConsumer.class)
          .invoke(null, first, 1_000, ship);
    }
    assertEquals(1_000, shipped.sum());
  }

  private Stock stock(LockClient client) {
    return new Stock(database, client);
  }

  private void stockOf(int quantity) throws SQLException {
    execute("CREATE TABLE stock (id INT PRIMARY KEY, quantity INT, fence BIGINT)");
    execute("INSERT INTO stock VALUES (1, " + quantity + ", 0)");
  }

  private int left() throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("SELECT quantity FROM stock WHERE id = 1")) {
      assertTrue(row.next());
      return row.getInt(1);
    }
  }

  private void execute(String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
