package dev.interlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Clients that share the connections of a program. */
class SharedPoolTest {

  private static final AtomicInteger DATABASES = new AtomicInteger();

  /** Far less than a pool's default time-out of 30 s, and far more than any request may take. */
  private static final Duration BOUND = Duration.ofSeconds(15);

  private final String database = "shared" + DATABASES.incrementAndGet();

  private final DataSource source = ProgramSource.h2(database);

  /** Returns a pool that waits 30 s for a free connection, HikariCP's default. */
  private HikariDataSource pool(int size) {
    HikariDataSource pool = new HikariDataSource();
    pool.setDataSource(source);
    pool.setMaximumPoolSize(size);
    return pool;
  }

  /** Takes the remaining connections of the pool. */
  private static List<Connection> useUp(HikariDataSource pool) throws SQLException {
    List<Connection> all = new ArrayList<>();
    while (pool.getHikariPoolMXBean() == null
        || pool.getHikariPoolMXBean().getActiveConnections() < pool.getMaximumPoolSize()) {
      all.add(pool.getConnection());
    }
    return all;
  }

  private static void giveBack(List<Connection> connections) throws SQLException {
    for (Connection connection : connections) {
      connection.close();
    }
  }

  private static <T> T inTime(Callable<T> call) throws Exception {
    long begin = System.nanoTime();
    try {
      return call.call();
    } finally {
      Duration took = Duration.ofNanos(System.nanoTime() - begin);
      assertTrue(took.compareTo(BOUND) < 0, () -> "took " + took);
    }
  }

  private static void await(Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + Backends.TIMEOUT.toNanos();
    while (!condition.call()) {
      assertTrue(System.nanoTime() - end < 0, "in vain");
      Thread.sleep(20);
    }
  }

  private long number(String sql) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement();
        var rows = statement.executeQuery(sql)) {
      rows.next();
      return rows.getLong(1);
    }
  }

  @Test
  void aRequestDoesNotWaitForAConnectionBeyondItsDeadline() throws Exception {
    try (HikariDataSource pool = pool(2)) {
      LockClient client = JdbcLocks.using(pool);
      List<Connection> all = useUp(pool);
      LockUnavailableException refusal =
          inTime(
              () ->
                  assertThrows(
                      LockUnavailableException.class, () -> client.lock("job").tryAcquire()));
      assertFalse(refusal.isInDoubt());
      giveBack(all);
      client.lock("job").acquire().close();
      inTime(
          () -> {
            client.close();
            return true;
          });
    }
  }

  @Test
  void leasesSurviveAProgramThatUsesUpItsPool() throws Exception {
    try (HikariDataSource pool = pool(4);
        LockBackend backend = Backends.open(pool, JdbcSettings.defaults())) {
      List<Grant> grants = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        grants.add(Backends.take(backend, Backends.claim("job/" + i)));
      }
      List<Connection> all = useUp(pool);
      for (Renewal renewal : inTime(() -> backend.renewAll(grants, Backends.soon()))) {
        assertInstanceOf(Renewal.Confirmed.class, renewal);
      }
      for (Grant grant : grants) {
        assertTrue(inTime(() -> backend.release(grant.claim(), Backends.soon())));
        backend.forget(grant.claim());
      }
      giveBack(all);
      await(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
    }
  }

  @Test
  void aConnectionThatComesTooLateIsReturnedUnused() throws Exception {
    AtomicReference<@Nullable CountDownLatch> gate = new AtomicReference<>();
    CompletableFuture<Connection> came = new CompletableFuture<>();
    ProgramSource slow =
        () -> {
          CountDownLatch closed = gate.get();
          Connection connection = source.getConnection();
          if (closed != null) {
            try {
              closed.await();
            } catch (InterruptedException e) {
              throw new SQLException(e);
            }
            came.complete(connection);
          }
          return connection;
        };
    try (LockClient client = JdbcLocks.using(slow)) {
      CountDownLatch closed = new CountDownLatch(1);
      gate.set(closed);
      assertThrows(LockUnavailableException.class, () -> client.lock("late").tryAcquire());
      gate.set(null);
      closed.countDown();
      Connection late = came.get(BOUND.toSeconds(), TimeUnit.SECONDS);
      await(late::isClosed);
      assertEquals(0, number("SELECT count(*) FROM interlock_lock"));
      client.lock("late").acquire().close();
    }
  }

  /** A router of tenants chooses the database by the thread. */
  @Test
  @SuppressWarnings("ThreadLocalUsage") // of this test alone
  void allThreadsUseTheSameDatabase() throws Exception {
    ThreadLocal<String> tenant = ThreadLocal.withInitial(() -> "");
    ProgramSource router = () -> ProgramSource.h2(database + tenant.get()).getConnection();
    try (LockBackend backend = Backends.open(router, JdbcSettings.defaults())) {
      tenant.set("a");
      Claim claim = Backends.claim("job");
      Grant grant = Backends.take(backend, claim);
      tenant.set("b");
      assertInstanceOf(Renewal.Confirmed.class, backend.renew(grant, Backends.soon()));
      assertInstanceOf(
          Attempt.Busy.class, backend.tryAcquire(Backends.claim("job"), Backends.soon()));
      assertTrue(backend.release(claim, Backends.soon()));
    }
  }

  /**
   * A transaction manager binds a connection to a thread, and its proxy hands out that connection.
   */
  @Test
  @SuppressWarnings("ThreadLocalUsage") // of this test alone
  void theTransactionOfACallerIsNotTouched() throws Exception {
    ThreadLocal<@Nullable Connection> current = new ThreadLocal<>();
    ProgramSource transactional =
        () -> {
          Connection connection = current.get();
          return connection == null ? source.getConnection() : ProgramSource.unclosed(connection);
        };
    try (LockClient client = JdbcLocks.using(transactional);
        Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE work (done INT)");
      connection.setAutoCommit(false);
      current.set(connection);
      statement.executeUpdate("INSERT INTO work VALUES (1)");
      client.lock("job").acquire().close();
      assertFalse(connection.getAutoCommit());
      connection.rollback();
      assertEquals(0, number("SELECT count(*) FROM work"));
    }
  }

  /** A pool of an application server: connections join the transaction of the thread. */
  @Test
  @SuppressWarnings("ThreadLocalUsage") // of this test alone
  void requestsDoNotJoinTheTransactionOfACaller() throws Exception {
    ThreadLocal<Boolean> inTransaction = ThreadLocal.withInitial(() -> false);
    ProgramSource joining =
        () -> {
          Connection connection = source.getConnection();
          return ProgramSource.proxy(
              Connection.class,
              (method, arguments) -> {
                if (inTransaction.get()) {
                  throw new SQLException("fetched outside of the transaction");
                }
                return method.invoke(connection, arguments);
              });
        };
    inTransaction.set(true);
    try (LockClient client = JdbcLocks.using(joining)) {
      Lease lease = client.lock("job").tryAcquire().orElseThrow();
      assertEquals(ReleaseOutcome.RELEASED, lease.release());
    }
  }

  /** The program's clock advances by a day. */
  @Test
  void oldRowsAreDeletedEvenIfNoNameIsNew() throws Exception {
    AtomicLong later = new AtomicLong();
    TimeSource time =
        new TimeSource() {
          @Override
          public long nanoTime() {
            return System.nanoTime() + later.get();
          }

          @Override
          public long wallMillis() {
            return System.currentTimeMillis();
          }

          @Override
          public void parkUntil(Object blocker, long untilNanos) {
            LockSupport.parkNanos(blocker, untilNanos - nanoTime());
          }
        };
    try (LockBackend backend =
            BackendOpener.ofProgram(
                source, JdbcSettings.defaults(), Backends.context(Backends.TIMEOUT, time));
        Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      for (String name : List.of("old", "new")) {
        Claim claim = Backends.claim(name);
        Backends.take(backend, claim);
        assertTrue(backend.release(claim, Backends.soon()));
      }
      statement.execute(
          "UPDATE interlock_lock SET purge_after = 0 WHERE granted_at ="
              + " (SELECT min(granted_at) FROM interlock_lock)");
      later.set(Duration.ofDays(1).toNanos());
      Claim claim = Backends.claim("new");
      Backends.take(backend, claim);
      assertTrue(backend.release(claim, Backends.soon()));
      assertEquals(1, number("SELECT count(*) FROM interlock_lock"));
    }
  }

  /** All borrowers share one connection, as in some tests. */
  @Test
  void theTransactionOnASharedConnectionIsNotTouched() throws Exception {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE work (done INT)");
      ProgramSource shared = () -> ProgramSource.unclosed(connection);
      try (LockClient client = JdbcLocks.using(shared)) {
        client.lock("job").acquire().close();
        connection.setAutoCommit(false);
        statement.executeUpdate("INSERT INTO work VALUES (1)");
        LockUnavailableException refusal =
            assertThrows(LockUnavailableException.class, () -> client.lock("job").tryAcquire());
        assertFalse(refusal.isInDoubt());
        connection.rollback();
        assertEquals(0, number("SELECT count(*) FROM work"));
        connection.setAutoCommit(true);
        client.lock("job").acquire().close();
      }
    }
  }

  @Test
  void aClosedPoolIsReportedAtOnce() throws Exception {
    HikariDataSource pool = pool(2);
    try (LockClient client =
        JdbcLocks.using(pool, LockOptions.builder().outageTimeout(Duration.ofMinutes(1)).build())) {
      pool.close();
      LockConfigurationException refusal =
          inTime(
              () ->
                  assertThrows(
                      LockConfigurationException.class, () -> client.lock("job").acquire()));
      assertTrue(String.valueOf(refusal.getMessage()).contains("was closed"), refusal::toString);
    }
  }
}
