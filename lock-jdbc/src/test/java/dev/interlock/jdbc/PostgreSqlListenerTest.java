package dev.interlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.PostgresServer;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.postgresql.ds.PGSimpleDataSource;

/** Waiters whose poll interval is longer than a test. */
class PostgreSqlListenerTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  @AutoClose
  private static final PostgresServer server = Testbed.postgresql().withoutSync().start();

  private static final LockOptions OPTIONS =
      LockOptions.builder()
          .pollInterval(Duration.ofMinutes(10))
          .ttl(Duration.ofMinutes(10))
          .requestTimeout(Duration.ofSeconds(30))
          .build();

  private static final String LISTENING =
      "FROM pg_stat_activity WHERE application_name = 'interlock'"
          + " AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')";

  private static LockClient open() {
    return LockClient.open(server.uri(), OPTIONS);
  }

  private static PostgreSqlListener listener(Connections connections, TimeSource time) {
    return new PostgreSqlListener(connections, "interlock_lock", "here", time);
  }

  private static PGSimpleDataSource connecting(PGSimpleDataSource source) {
    source.setUrl(server.jdbcUrl());
    source.setUser(server.user());
    source.setPassword(server.password());
    source.setApplicationName("interlock");
    return source;
  }

  private static int listening() throws IOException {
    return Integer.parseInt(only("SELECT count(*) " + LISTENING));
  }

  private static String only(String sql) throws IOException {
    @Nullable String value = server.query(sql).get(0).get(0);
    return String.valueOf(value);
  }

  private interface Condition {
    boolean holds() throws IOException, SQLException;
  }

  private static void await(Condition condition) throws Exception {
    long end = System.nanoTime() + Backends.TIMEOUT.toNanos();
    while (!condition.holds()) {
      assertTrue(System.nanoTime() - end < 0, "in vain");
      Thread.sleep(20);
    }
  }

  private static void awaitMark(String name) throws Exception {
    String hex = "decode('" + hex(name) + "', 'hex')";
    await(
        () ->
            server
                .query("SELECT awaited FROM interlock_lock WHERE name = " + hex)
                .equals(List.of(List.of("1"))));
  }

  private static String hex(String name) {
    return NameRange.text(LockTable.key(name));
  }

  private static Lease soon(CompletableFuture<Lease> future) throws Exception {
    return future.get(Backends.TIMEOUT.toSeconds(), TimeUnit.SECONDS);
  }

  @Test
  void aReleaseWakesAWaiterAndTheConnectionEndsWhenNobodyWaits() throws Exception {
    try (LockClient one = open();
        LockClient two = open()) {
      Lease lease = one.lock("job").acquire();
      CompletableFuture<Lease> waiting = two.lock("job").acquireAsync();
      awaitMark("job");
      assertEquals(1, listening());
      lease.close();
      soon(waiting).close();
      await(() -> listening() == 0);

      Lease again = one.lock("job").acquire();
      CompletableFuture<Lease> later = two.lock("job").acquireAsync();
      awaitMark("job");
      again.close();
      soon(later).close();
    }
  }

  @Test
  void readersWakeAWriterAndAForcedReleaseWakesAllWaiters() throws Exception {
    try (LockClient one = open();
        LockClient two = open()) {
      Lease reader = one.readWriteLock("book").readLock().acquire();
      CompletableFuture<Lease> writer = two.readWriteLock("book").writeLock().acquireAsync();
      String hex = "decode('" + hex("book") + "', 'hex')";
      await(
          () ->
              only("SELECT encode(holds, 'escape') FROM interlock_lock WHERE name = " + hex)
                  .contains("wait"));
      await(() -> listening() == 1);
      reader.close();
      soon(writer).close();

      Lease lease = one.lock("forced").acquire();
      CompletableFuture<Lease> waiting = two.lock("forced").acquireAsync();
      awaitMark("forced");
      assertTrue(one.admin().forceRelease("forced"));
      soon(waiting).close();
      var unused = lease.release();
    }
  }

  @Test
  void aKilledConnectionIsReplaced() throws Exception {
    try (LockClient one = open();
        LockClient two = open()) {
      Lease lease = one.lock("killed").acquire();
      CompletableFuture<Lease> waiting = two.lock("killed").acquireAsync();
      awaitMark("killed");
      String first = only("SELECT max(pid) " + LISTENING);
      assertEquals("t", only("SELECT bool_and(pg_terminate_backend(pid)) " + LISTENING));
      await(() -> listening() == 1 && !only("SELECT max(pid) " + LISTENING).equals(first));
      lease.close();
      soon(waiting).close();
    }
  }

  @Test
  void aReleaseWhileTheConnectionIsGoneIsNotMissed() throws Exception {
    try (LockClient one = open();
        LockClient two = open()) {
      Lease lease = one.lock("gone").acquire();
      CompletableFuture<Lease> waiting = two.lock("gone").acquireAsync();
      awaitMark("gone");
      server.query("SELECT pg_terminate_backend(pid) " + LISTENING);
      lease.close();
      soon(waiting).close();
    }
  }

  @Test
  void aReleaseWithoutWaitersSendsNoNotification() throws Exception {
    try (LockClient one = open();
        LockClient two = open()) {
      Lease lease = one.lock("busy").acquire();
      assertTrue(two.lock("busy").tryAcquire().isEmpty());
      assertEquals(
          List.of(List.of("0")),
          server.query(
              "SELECT awaited FROM interlock_lock WHERE name = decode('"
                  + hex("busy")
                  + "', 'hex')"));
      lease.close();
    }
  }

  @Test
  void listeningIsRetriedAfterARefusal() throws Exception {
    AtomicBoolean refused = new AtomicBoolean();
    PGSimpleDataSource source =
        new PGSimpleDataSource() {
          @Override
          public Connection getConnection() throws SQLException {
            if (refused.compareAndSet(false, true)) {
              throw new SQLException("the role is not permitted to log in", "28000");
            }
            return super.getConnection();
          }
        };
    connecting(source);
    try (Connections connections = Connections.ofProgram(source, Backends.TIME);
        PostgreSqlListener listener = listener(connections, Backends.TIME)) {
      var unused = listener.watch("job", new WakeUp(Backends.TIME));
      await(() -> listening() == 1);
      assertTrue(refused.get());
    }
  }

  /** The first connection is never made, because packets are lost or the pool hangs. */
  @Tag("extended")
  @Test
  void aHangingDataSourceIsAskedAgain() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    AtomicBoolean hangs = new AtomicBoolean(true);
    PGSimpleDataSource good = connecting(new PGSimpleDataSource());
    ProgramSource source =
        () -> {
          if (hangs.getAndSet(false)) {
            try {
              end.await();
            } catch (InterruptedException e) {
              throw new SQLException(e);
            }
          }
          return good.getConnection();
        };
    try (Connections connections = Connections.ofProgram(source, Backends.TIME);
        PostgreSqlListener listener = listener(connections, Backends.TIME)) {
      var unused = listener.watch("job", new WakeUp(Backends.TIME));
      await(() -> listening() == 1);
    } finally {
      end.countDown();
    }
  }

  @Test
  void notificationsOfOtherLocksDoNotEndTheConnection() throws Exception {
    AtomicLong clock = new AtomicLong();
    TimeSource stopped =
        new TimeSource() {
          @Override
          public long nanoTime() {
            return clock.get();
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
    PGSimpleDataSource source = connecting(new PGSimpleDataSource());
    try (Connections connections = Connections.ofProgram(source, stopped);
        PostgreSqlListener listener = listener(connections, stopped)) {
      CountDownLatch listens = new CountDownLatch(1);
      var watch = listener.watch("job", new WakeUp(Backends.TIME, listens::countDown));
      assertTrue(listens.await(Backends.TIMEOUT.toSeconds(), TimeUnit.SECONDS));
      watch.close();
      for (int i = 0; i < 5; i++) {
        server.execute("NOTIFY " + ReleaseChannel.of("interlock_lock") + ", 'other'");
      }
      CountDownLatch stillListens = new CountDownLatch(1);
      listener.watch("job", new WakeUp(Backends.TIME, stillListens::countDown)).close();
      assertEquals(0, stillListens.getCount(), "listens no longer");
      clock.set(Duration.ofSeconds(7).toNanos());
      await(() -> listening() == 0);
    }
  }

  @Test
  void theOnlyConnectionOfAPoolServesRequests() throws Exception {
    HikariDataSource pool = new HikariDataSource();
    pool.setJdbcUrl(server.jdbcUrl());
    pool.setUsername(server.user());
    pool.setPassword(server.password());
    pool.setMaximumPoolSize(1);
    LockOptions polling = OPTIONS.toBuilder().pollInterval(Duration.ofMillis(100)).build();
    try (pool;
        LockClient one = open();
        LockClient two = JdbcLocks.using(pool, polling)) {
      Lease other = two.lock("other").acquire();
      Lease lease = one.lock("only").acquire();
      CompletableFuture<Lease> waiting = two.lock("only").acquireAsync();
      for (int i = 0; i < 3; i++) {
        assertTrue(two.lock("only").tryAcquire().isEmpty());
      }
      assertEquals(ReleaseOutcome.RELEASED, other.release());
      lease.close();
      soon(waiting).close();
    }
  }

  /** The pool resets nothing when a connection is returned. */
  private static DataSource always(Connection connection) {
    ProgramSource source = () -> ProgramSource.unclosed(connection);
    return source;
  }

  @Test
  void theConnectionIsReturnedWithItsOriginalState() throws Exception {
    try (Connection connection =
            DriverManager.getConnection(server.jdbcUrl(), server.user(), server.password());
        Connections connections = Connections.ofProgram(always(connection), Backends.TIME);
        PostgreSqlListener listener = listener(connections, Backends.TIME)) {
      connection.setAutoCommit(false);
      connection.setNetworkTimeout(Runnable::run, 77_000);
      CountDownLatch listens = new CountDownLatch(1);
      var watch = listener.watch("job", new WakeUp(Backends.TIME, listens::countDown));
      assertTrue(listens.await(Backends.TIMEOUT.toSeconds(), TimeUnit.SECONDS));
      watch.close();
      await(() -> !connection.getAutoCommit() && connection.getNetworkTimeout() == 77_000);
      try (var channels =
          connection.createStatement().executeQuery("SELECT pg_listening_channels()")) {
        assertFalse(channels.next());
      }
    }
  }

  /** The first answer is lost, and another client begins to wait before the attempt is repeated. */
  @Test
  void aRepeatedGrantKeepsTheMarkOfAWaiter() throws Exception {
    try (LockBackend one = Backends.open(server.uri());
        LockBackend two = Backends.open(server.uri())) {
      Claim claim = Backends.claim("repeated");
      Backends.take(one, claim);
      Claim waiting =
          Backends.claim("repeated", Share.EXCLUSIVE, Backends.TTL, Duration.ofMinutes(1));
      var unused = two.tryAcquire(waiting, Backends.soon());
      WakeUp wakeUp = new WakeUp(Backends.TIME);
      var watch = two.watch("repeated", wakeUp);
      assertTrue(wakeUp.await(Backends.soon()), "does not listen");
      var busy = two.tryAcquire(waiting, Backends.soon());
      awaitMark("repeated");
      Backends.take(one, claim);
      assertTrue(one.release(claim, Backends.soon()));
      assertTrue(
          wakeUp.await(Deadline.in(Backends.TIME, Duration.ofSeconds(10))), busy + ", not woken");
      watch.close();
    }
  }
}
